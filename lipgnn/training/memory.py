"""The memory that a training step will need, from a trial of two blocks, and what to do where there is too little."""

from __future__ import annotations

import contextlib
import importlib
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from lipgnn.errors import RunFailed
from lipgnn.memory import memory_in_use
from lipgnn.network.deep import DeepGNN
from lipgnn.network.hops import Graphs, per_block
from lipgnn.network.jumps import carried, join
from lipgnn.network.recompute import Randomness, buffers_kept

# From here on a run is big, and its memory is told beforehand.
BIG = 2**30

# glibc's allocator may come to hold so many times what is in use (see memory_returned).
HELD = 3

# The estimate is good to a quarter, so a step is taken to fit where this many times its memory is free.
MARGIN = 1.25

# Of every weight a run holds, beside the weight itself: gradient, two moments of Adam, the best value so far.
COPIES = 4

_PROBED = 2

_SMALLER = "Use fewer heads, a smaller width or fewer layers."


@dataclass(frozen=True)
class Estimate:
    """What a training step will need, in bytes.

    Attributes
    ----------
    now : in use before the first step.
    step : further, for a step through a network with the first `probed` blocks, with all that training keeps.
    block : further, for every block more.
    boundary : the input of a block.
    layers, probed : blocks in all, and in the probe.
    """

    now: int
    step: int
    block: int
    boundary: int
    layers: int
    probed: int

    def peak(self, every: int) -> int:
        """The largest memory of a step that keeps the input of every `every`-th block only, or all (0).

        All L blocks, or with distance k the inputs of the ⌈L/k⌉ − 1 segments to compute again and the k blocks
        of the one in work.
        """
        if not self.layers:
            return self.now + self.step
        kept = min(every, self.layers) if every else self.layers
        inputs = -(-self.layers // kept) - 1
        return self.now + self.step + (kept - self.probed) * self.block + inputs * self.boundary


@dataclass(frozen=True)
class MemoryPlan:
    """How many activations a run keeps, and what comes of it.

    Attributes
    ----------
    recompute_every : distance of the blocks whose input is kept, 0 where all activations are.
    peak : expected largest memory of the run, in bytes.
    free : bytes that the run could still get when it was asked.
    fits : whether that is enough.
    chosen : the distance was left to us, and memory is too scarce for 0.
    frugal : memory is worth time: activations are computed again anyway, by checkpoints or by inversion, or the
        system may have too little for an allocator that holds on to it.
    """

    recompute_every: int
    peak: int
    free: int
    fits: bool
    chosen: bool
    frugal: bool

    @property
    def notable(self) -> bool:
        """Whether there is something to say before the run."""
        return self.peak > BIG or self.chosen or not self.fits


def check_weights(make: Callable[[], DeepGNN], free: int) -> None:
    """Refuse a big network whose weights alone cannot be had, before the system ends whoever asks for them.

    Parameters
    ----------
    make : makes the network; called without allocating it.
    free : bytes to be had.

    Raises
    ------
    RunFailed : with the sizes.
    """
    try:
        with torch.device("meta"), _Undrawn():
            weights = list(make().parameters())
        needed = (1 + COPIES) * sum(weight.numel() * weight.element_size() for weight in weights)
    except RuntimeError as error:
        # More numbers than can be counted in 64 bits.
        raise RunFailed(f"The network is too large for any memory: {error}.", _SMALLER) from error
    if needed > max(free, BIG):
        count = sum(weight.numel() for weight in weights)
        raise RunFailed(
            f"The network has {count:,} weights, which take {needed / 2**30:,.1f} GB with their gradients and the "
            f"state of Adam; {free / 2**30:,.1f} GB of memory are free.",
            _SMALLER,
        )


def plan_memory(expected: Estimate, requested: str, free: int) -> MemoryPlan:
    """Settle how many activations are kept.

    Parameters
    ----------
    requested : a distance of checkpoints, or "auto": all activations if they fit, else the largest distance that
        does (L − k blocks are computed twice), else the one that needs least.
    free : bytes to be had.
    """

    def fits(every: int, times: float = MARGIN) -> bool:
        return times * (expected.peak(every) - expected.now) <= free

    every, distances = 0, range(expected.layers - 1, 0, -1)
    if requested != "auto":
        every = int(requested)
    elif not fits(0) and expected.block and distances:
        every = next(filter(fits, distances), None) or min(distances, key=expected.peak)
    return MemoryPlan(
        recompute_every=every,
        peak=expected.peak(every),
        free=free,
        fits=fits(every),
        chosen=requested == "auto" and every > 0,
        frugal=every > 0 or not expected.block or not fits(every, HELD),
    )


def estimate(
    network: DeepGNN, graph: Graphs, features: torch.Tensor, loss: Callable[[torch.Tensor], torch.Tensor]
) -> Estimate:
    """Take a step through two blocks and count what it allocates; nothing else is changed.

    Two, because what the second adds to the first is what every further one will; but through all where each has a
    graph of its own. Memory that an operation takes and gives back within itself is not seen.

    Parameters
    ----------
    loss : logits (N, C) → the value to differentiate.
    """
    network.train()
    layers = len(network.blocks)
    probed = layers if isinstance(network.layer_graph(graph), Sequence) else min(_PROBED, layers)
    if network.recompute_every:
        # Torch's checkpoint will import its compiler, some 130 MB; here, so that they are counted.
        importlib.import_module("torch._dynamo")
    with Randomness.now(features.device).again(), buffers_kept(network), _all_kept(network):
        probe = _probe(network, graph, features, loss, probed)
    weights = sum(p.numel() * p.element_size() for p in network.parameters())
    return Estimate(
        now=memory_in_use(features.device),
        step=probe.peak + COPIES * weights,
        block=0 if network.reversible else probe.block,
        boundary=probe.boundary,
        layers=layers,
        probed=probed,
    )


@dataclass(frozen=True)
class _Probe:
    """Bytes: the most a step had at once, what a further block keeps, the size of a block's input."""

    peak: int
    block: int
    boundary: int


def _probe(
    network: DeepGNN, graph: Graphs, features: torch.Tensor, loss: Callable[[torch.Tensor], torch.Tensor], probed: int
) -> _Probe:
    with _Allocations() as allocations:
        x = network.encode(features)
        outputs: list[torch.Tensor] = []
        boundary = 0
        kept = [allocations.now]
        # The last one takes what any other gives, and gives what the decoder takes.
        blocks = [*network.blocks[: max(0, probed - 1)], *network.blocks[-1:]]
        for number, (block, own) in enumerate(zip(blocks, per_block(network.layer_graph(graph), probed), strict=True)):
            # Features without an encoder are of another width than what goes from block to block.
            if number or not network.bare:
                boundary = max(boundary, x.nbytes)
            x = network.run([block], own, x)
            outputs = [*carried(outputs, own), x] if network.jk != "none" else [x]
            kept.append(allocations.now)
        # Those that were not computed are as large as the last.
        outputs += [x] * (len(network.blocks) - probed)
        value = loss(network.decode(graph, join(outputs, network.jk) if outputs else x))
        del x, outputs
        torch.autograd.grad(value, [p for p in network.parameters() if p.requires_grad], allow_unused=True)
    # The last of two, or the mean of all; then no estimate goes beyond what was tried.
    block = 0 if not probed else kept[-1] - kept[-2] if probed <= _PROBED else (kept[-1] - kept[0]) // probed
    return _Probe(allocations.peak, block, boundary)


@contextlib.contextmanager
def _all_kept(network: DeepGNN) -> Iterator[None]:
    every, network.recompute_every = network.recompute_every, 0
    try:
        yield
    finally:
        network.recompute_every = every


class _Undrawn(TorchFunctionMode):
    """Draws no numbers for new weights: tensors without memory have none, and torch would import its compiler."""

    def __torch_function__(self, func: Callable, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        if func in (torch.Tensor.normal_, torch.Tensor.uniform_):
            # DGL makes weights by a constructor that does not ask for the device, and then what they held would stay.
            return args[0] if args[0].is_meta else args[0].zero_()
        return func(*args, **(kwargs or {}))


class _Allocations(TorchDispatchMode):
    """Counts the bytes of tensors that were made while it is active and still exist, on any device."""

    def __init__(self) -> None:
        super().__init__()
        self.now = self.peak = 0
        self._known: set[int] = set()

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """No: to skip the compiler torch would import it, which takes longer than a short run."""
        return False

    def __torch_dispatch__(self, func: Callable, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        kwargs = kwargs or {}
        made = func(*args, **kwargs)
        # What an operation returns may be a view of what it was given.
        given = {storage.data_ptr() for storage in _storages((args, kwargs))}
        for storage in _storages(made):
            self._count(storage, given)
        return made

    def _count(self, storage: torch.UntypedStorage, given: set[int]) -> None:
        address, size = storage.data_ptr(), storage.nbytes()
        if size and address not in given and address not in self._known:
            self._known.add(address)
            self.now += size
            self.peak = max(self.peak, self.now)
            weakref.finalize(storage, self._forget, address, size)

    def _forget(self, address: int, size: int) -> None:
        self._known.discard(address)
        self.now -= size


def _storages(tree: Any) -> Iterator[torch.UntypedStorage]:
    # A sparse tensor has no storage of its own, but indices and values, which were seen when they were made.
    for leaf in tree_leaves(tree):
        if isinstance(leaf, torch.Tensor) and leaf.layout == torch.strided:
            yield leaf.untyped_storage()
