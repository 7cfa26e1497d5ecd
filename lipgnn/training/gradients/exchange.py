"""What every worker gets in place of its own gradient: the mean of what all of them send, with memory of the rest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import torch
import torch.distributed as dist
from torch import nn

from lipgnn.spec.compression import HALF, POWER_SGD, QSGD, RANDOM_K, Compression
from lipgnn.tasks.saved import Tensors
from lipgnn.training.gradients.memory import COUNTS, Memory, Piece, pieces_of
from lipgnn.training.gradients.operators import (
    dense_bits,
    dequantize,
    qsgd_bits,
    quantize,
    random_k,
    top_k,
    top_k_bits,
)
from lipgnn.training.gradients.torch_hooks import Bucket, Half, PowerSgd


class Exchange:
    """Sends some of a gradient and keeps the rest for later, parameter by parameter.

    With memory m, learning rate η and gradient g of each of W workers (Stich et al. 2018, algorithms 1 and 2):

        u = m + η g,   c = comp(u),   m ← u − c,   and all get (1/W) Σ_w c_w / η

    so that a step of SGD changes the weights by the mean of c. With `scale` none, η is 1 here. Without memory, m stays
    zero. The L2 penalty λ x of a parameter x is part of g: what enters memory is the gradient of the whole loss.

    A buffer may hold the gradients of any parameters in any order. They are brought into the order of
    `named_parameters` first, so that what is chosen does not depend on how somebody else groups them; k is of the whole
    buffer. Workers must make the same calls in the same order.

    Parameters
    ----------
    named_parameters : names and parameters, whose memory is kept.
    compression : what is sent; None sends all.
    scale : "lr" or "none".
    memory : whether what is left out is kept.
    seed : of what random-k and QSGD draw.
    decays : the L2 penalty of parameters that have one.

    Attributes
    ----------
    rate : η of the next step, for whoever calls without one.
    sent_bits, dense_bits : of all calls so far, as the formulas of `operators` count them: what a worker receives, W
        times a compressed vector, or what all-reduce returns; and what it would be without compression. Tensors on the
        wire take more where a place or level has fewer bits than a whole number of bytes.
    """

    def __init__(
        self,
        named_parameters: Iterable[tuple[str, nn.Parameter]],
        compression: Compression | None,
        *,
        scale: str = "lr",
        memory: bool = True,
        seed: int = 0,
        decays: Mapping[str, float] | None = None,
    ):
        self._parameters = dict(named_parameters)
        self._place = {name: place for place, name in enumerate(self._parameters)}
        self._names = {id(parameter): name for name, parameter in self._parameters.items()}
        self.compression, self._scale, self._seed = compression, scale, seed
        self._decays = dict(decays or {})
        self.memory = Memory(self._parameters, keeps=memory and compression is not None and compression.sparse)
        self._hook = _torch_hook(compression, memory=memory, seed=seed)
        self.rate = 1.0
        self._calls = self.sent_bits = self.dense_bits = 0

    def exchange(
        self,
        flat: torch.Tensor,
        pieces: Sequence[Piece],
        rate: float | None = None,
        group: dist.ProcessGroup | None = None,
    ) -> torch.Tensor:
        """What takes the place of the gradients in `flat`, (d,), of all parameters in `pieces`; a new buffer.

        Parameters
        ----------
        rate : η, and `self.rate` where there is none.
        group : the workers; None for one process.
        """
        rate = (self.rate if rate is None else rate) if self._scale == "lr" else 1.0
        pieces = sorted(pieces, key=lambda piece: self._place[piece.name])
        gradient = torch.cat([self._with_decay(piece.name, flat[piece.start : piece.end]) for piece in pieces])
        workers = group.size() if group else 1
        self._calls += 1
        self.dense_bits += dense_bits(len(gradient), _width(gradient))
        if self.compression is None:
            mean = self._dense(gradient, group, workers)
        elif self._hook:
            shapes = [self._parameters[piece.name].shape for piece in pieces]
            mean, bits = self._hook.mean(Bucket(gradient, shapes), group)
            self.sent_bits += bits
        elif rate == 0:
            # A step of length 0 changes nothing, so there is nothing to send or to keep.
            mean = torch.zeros_like(gradient)
        else:
            mean = self._compressed(gradient.mul_(rate), pieces, group, workers) / rate
        exchanged, start = torch.empty_like(flat), 0
        for piece in pieces:
            end = start + piece.end - piece.start
            exchanged[piece.start : piece.end] = mean[start:end]
            start = end
        return exchanged

    def apply(self, rate: float | None = None) -> None:
        """Exchange all gradients there are, in place, in one process alone."""
        own = {name: p for name, p in self._parameters.items() if p.grad is not None}
        pieces = pieces_of([(name, parameter.numel()) for name, parameter in own.items()])
        if not pieces:
            return
        flat = torch.cat([parameter.grad.reshape(-1) for parameter in own.values()])
        exchanged = self.exchange(flat, pieces, rate)
        for piece, parameter in zip(pieces, own.values(), strict=True):
            parameter.grad.copy_(exchanged[piece.start : piece.end].view_as(parameter))

    def pieces_of(self, parameters: Iterable[nn.Parameter]) -> list[Piece]:
        """Where the gradients of parameters are that follow each other in a buffer, such as a bucket of torch's."""
        return pieces_of([(self._names[id(parameter)], parameter.numel()) for parameter in parameters])

    @property
    def decays(self) -> bool:
        """Whether the L2 penalty is part of what is compressed, so that an optimizer must not add it once more."""
        return self.compression is not None and self.compression.is_own

    def tensors(self) -> Tensors:
        """All that a resumed run needs of this worker, by name."""
        counts = [self._calls, self.sent_bits, self.dense_bits]
        own = self._hook.tensors() if self._hook else {}
        return {**self.memory.tensors(), **own, COUNTS: torch.tensor(counts, dtype=torch.int64, device="cpu")}

    def load(self, tensors: Tensors) -> None:
        """Go on from what `tensors` gave.

        Raises
        ------
        ValueError : it is of other parameters, or of another compression.
        """
        own = self.memory.tensors()
        if any(name not in tensors or tensor.shape != tensors[name].shape for name, tensor in own.items()):
            raise ValueError("the memory of gradients is of another network or compression")
        for name, tensor in own.items():
            tensor.copy_(tensors[name])
        if self._hook:
            self._hook.load(tensors)
        self._calls, self.sent_bits, self.dense_bits = tensors[COUNTS].tolist()

    def _with_decay(self, name: str, gradient: torch.Tensor) -> torch.Tensor:
        decay = self._decays.get(name, 0.0) if self.decays else 0.0
        return gradient + decay * self._parameters[name].detach().reshape(-1) if decay else gradient

    def _dense(self, gradient: torch.Tensor, group: dist.ProcessGroup | None, workers: int) -> torch.Tensor:
        self.sent_bits += dense_bits(len(gradient), _width(gradient))
        # Divided first, as torch does.
        mean = gradient / workers
        if group:
            dist.all_reduce(mean, group=group)
        return mean

    def _compressed(
        self, entering: torch.Tensor, pieces: Sequence[Piece], group: dist.ProcessGroup | None, workers: int
    ) -> torch.Tensor:
        """The mean over the workers of what is sent of memory and η g; memory is left with the rest."""
        asked = self.memory.recall(pieces, entering)
        own, mean = (self._quantized if self.compression.kind == QSGD else self._chosen)(asked, group, workers)
        self.memory.keep(pieces, asked, own)
        return mean

    def _chosen(
        self, x: torch.Tensor, group: dist.ProcessGroup | None, workers: int
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Some coordinates of x with zeros in place of the others, and the mean of such over the workers."""
        k = self.compression.count(len(x))
        if self.compression.kind == RANDOM_K:
            # The same places for all, so that their values alone are sent.
            places = random_k(len(x), k, self._drawn_seed(), x.device)
            self.sent_bits += dense_bits(k, _width(x))
            values = x[places]
            summed = values.clone()
            if group:
                dist.all_reduce(summed, group=group)
            return _scattered(x, places, values), _scattered(x, places, summed / workers)
        places = top_k(x, k)
        self.sent_bits += workers * top_k_bits(len(x), k, _width(x))
        own = _scattered(x, places, x[places])
        if not group:
            return own, own
        all_places = _gathered(places, group)
        all_values = _gathered(x[places], group)
        mean = torch.zeros_like(x)
        # One worker after the other, in the order of ranks: sums come out the same everywhere.
        for each_places, each_values in zip(all_places, all_values, strict=True):
            mean.index_add_(0, each_places, each_values)
        return own, mean / workers

    def _quantized(
        self, x: torch.Tensor, group: dist.ProcessGroup | None, workers: int
    ) -> tuple[torch.Tensor, torch.Tensor]:
        bits = int(self.compression.number)
        rank = dist.get_rank(group) if group else 0
        generator = torch.Generator(device="cpu").manual_seed(self._drawn_seed(rank))
        levels, length = quantize(x, bits, generator)
        own = dequantize(levels, length, bits)
        nonzeros = torch.count_nonzero(x).reshape(1)
        all_nonzeros = _gathered(nonzeros, group) if group else [nonzeros]
        self.sent_bits += sum(qsgd_bits(len(x), bits, int(count)) for count in all_nonzeros)
        if not group:
            return own, own
        # As bytes: gloo does not know numbers of 16 bits.
        all_levels = (each.view(levels.dtype) for each in _gathered(levels.view(torch.uint8), group))
        parts = zip(all_levels, _gathered(length.reshape(1), group), strict=True)
        return own, sum(dequantize(*part, bits) for part in parts) / workers

    def _drawn_seed(self, rank: int = 0) -> int:
        """Of what is drawn in this call."""
        return ((self._seed * 2**20 + rank) * 2**31 + self._calls) % 2**63


def _torch_hook(compression: Compression | None, *, memory: bool, seed: int) -> Half | PowerSgd | None:
    kind = compression.kind if compression else None
    if kind == POWER_SGD:
        return PowerSgd(int(compression.number), memory=memory, seed=seed)
    return Half() if kind == HALF else None


def _width(x: torch.Tensor) -> int:
    return 8 * x.element_size()


def _scattered(like: torch.Tensor, places: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    return torch.zeros_like(like).index_copy_(0, places, values)


def _gathered(x: torch.Tensor, group: dist.ProcessGroup) -> list[torch.Tensor]:
    every = [torch.empty_like(x) for _ in range(group.size())]
    dist.all_gather(every, x.contiguous(), group=group)
    return every
