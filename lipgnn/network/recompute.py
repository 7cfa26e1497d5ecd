"""Activations computed twice instead of kept: what a repetition needs to be one, and checkpoints over blocks."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from lipgnn.network.hops import Graphs, Hop, inputs_of, per_block, targets_of
from lipgnn.network.jumps import carried
from lipgnn.runtime import dgl


@dataclass(frozen=True)
class Randomness:
    """The states of torch's generators at one moment: the CPU's, and that of a CUDA device in use."""

    cpu: torch.Tensor
    cuda: torch.Tensor | None
    device: torch.device

    @classmethod
    def now(cls, device: torch.device, last: Randomness | None = None) -> Randomness:
        """The states as they are; `last` itself where nothing was drawn since, so that states do not add up."""
        cuda = torch.cuda.get_rng_state(device) if device.type == "cuda" else None
        now = cls(torch.get_rng_state(), cuda, device)
        return last if last is not None and now._equals(last) else now

    def _equals(self, other: Randomness) -> bool:
        return torch.equal(self.cpu, other.cpu) and (self.cuda is None or torch.equal(self.cuda, other.cuda))

    @contextlib.contextmanager
    def again(self) -> Iterator[None]:
        """Draw once more what was drawn from this moment on; the generators are as before afterwards."""
        with torch.random.fork_rng(devices=[] if self.cuda is None else [self.device]):
            torch.set_rng_state(self.cpu)
            if self.cuda is not None:
                torch.cuda.set_rng_state(self.cuda, self.device)
            yield


@contextlib.contextmanager
def buffers_kept(*modules: nn.Module) -> Iterator[None]:
    """Let `modules` change copies of their buffers: BatchNorm must count a batch once, however often it is computed."""
    buffers = [
        (owner, name, buffer)
        for module in modules
        for owner in module.modules()
        for name, buffer in owner.named_buffers(recurse=False)
    ]
    try:
        for owner, name, buffer in buffers:
            setattr(owner, name, buffer.clone())
        yield
    finally:
        for owner, name, buffer in buffers:
            setattr(owner, name, buffer)


class _BuffersKeptAgain(contextlib.AbstractContextManager):
    """`buffers_kept` as often as it is entered: there may be more than one way back through the same blocks."""

    def __init__(self, modules: Sequence[nn.Module]):
        self._modules = modules
        self._open = contextlib.ExitStack()

    def __enter__(self) -> None:
        self._open.enter_context(buffers_kept(*self._modules))

    def __exit__(self, *error: object) -> None:
        self._open.close()


def run_blocks(
    blocks: Sequence[nn.Module], graph: Graphs, x: torch.Tensor, start: torch.Tensor | None = None
) -> torch.Tensor:
    """One block after the other, (N, W) → (N, W), each on its own graph where there are several.

    Parameters
    ----------
    start : what every block is given beside its input, if anything; of the same nodes.
    """
    for block, own in zip(blocks, per_block(graph, len(blocks)), strict=True):
        if start is None:
            x = block(own, inputs_of(own, x))
        else:
            start = inputs_of(own, start)
            x = block(own, inputs_of(own, x), start)
            start = targets_of(own, start)
    return x


def run_recomputing(
    blocks: Sequence[nn.Module], graph: Graphs, x: torch.Tensor, every: int, start: torch.Tensor | None = None
) -> torch.Tensor:
    """The same, with gradients equal bit for bit, keeping the input of every `every`-th block only.

    The blocks between are computed again, `every` at a time, when gradients reach them. The last `every` are
    needed at once and kept: L − every blocks are computed twice.

    Reference: Chen et al., "Training Deep Nets with Sublinear Memory Cost", 2016.
    """
    blocks = list(blocks)
    graphs = per_block(graph, len(blocks))
    first, end_of_first = 0, len(blocks) % every or every
    for end in range(end_of_first, len(blocks), every):
        x = _recomputed(blocks[first:end], graphs[first:end], x, start)
        if start is not None:
            for own in graphs[first:end]:
                start = targets_of(own, inputs_of(own, start))
        first = end
    return run_blocks(blocks[first:], graphs[first:], x, start)


def run_each(
    blocks: Sequence[nn.Module],
    graph: Graphs,
    x: torch.Tensor,
    start: torch.Tensor | None = None,
    *,
    recompute: bool = False,
) -> list[torch.Tensor]:
    """The outputs of all blocks, one after the other, (N, W) each; of the targets of the last, where there are hops.

    Parameters
    ----------
    recompute : keep nothing of a block but its output, which is kept in any case.
    """
    outputs: list[torch.Tensor] = []
    for number, (block, own) in enumerate(zip(blocks, per_block(graph, len(blocks)), strict=True), start=1):
        run = _recomputed if recompute and number < len(blocks) else run_blocks
        x = run([block], [own], x, start)
        start = None if start is None else targets_of(own, inputs_of(own, start))
        outputs = [*carried(outputs, own), x]
    return outputs


def _recomputed(
    blocks: Sequence[nn.Module], graphs: Sequence[dgl.DGLGraph | Hop], x: torch.Tensor, start: torch.Tensor | None
) -> torch.Tensor:
    """These blocks one after the other, of which the input alone is kept."""
    return checkpoint(
        functools.partial(run_blocks, blocks, graphs),
        x,
        start,
        use_reentrant=False,
        # torch repeats the random numbers, but not the buffers.
        context_fn=lambda: (contextlib.nullcontext(), _BuffersKeptAgain(blocks)),
    )
