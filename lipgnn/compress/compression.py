"""A saved Graph Transformer with queries and keys that its heads share, and what that does to its layers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import nn

from lipgnn.catalog import NO_NORM, find_task, models_with
from lipgnn.compress.als import Factors, decompose, relative_error
from lipgnn.compress.tensor import ScoreTensor
from lipgnn.errors import UsageError
from lipgnn.nn.transformer import TransformerConv
from lipgnn.spec.head_sharing import COLLAB, NO_SHARING
from lipgnn.spec.run import RunSpec
from lipgnn.tasks.saved import SavedModel

# The share of the energy that a suggested width holds.
ENOUGH = 0.99

# Called with what is done, what there is to do, and the width at hand.
Progress = Callable[[int, int, int], None]


@dataclass(frozen=True)
class LayerFacts:
    """What compression does to one layer.

    Attributes
    ----------
    layer : its number from 1 on; in a reversible stack with the letter of its branch.
    energy : the share of the energy of its stacked heads that as many leading dimensions hold as it has now.
    suggested : how many dimensions hold 99 % of it.
    error : the relative error of the decomposition.
    """

    layer: str
    energy: float
    suggested: int
    error: float


@dataclass(frozen=True, eq=False)
class Compression:
    """A compressed model.

    Attributes
    ----------
    model : it is of the run and the data of the model that it was made from.
    shared_dim : D̃, the width of its shared queries and keys.
    layers : what became of each.
    """

    model: SavedModel
    shared_dim: int
    layers: list[LayerFacts]


def compress_model(saved: SavedModel, shared_dim: int, *, seed: int = 0) -> Compression:
    """The model with shared queries and keys of a width; see `Compressor`."""
    return Compressor(saved, seed=seed).at(shared_dim)


class Compressor:
    """Makes models with shared queries and keys from one with queries and keys for every head.

    At the full width H·D the maps are copied and mixed by blocks of ones, which is exact. Below it the score tensor of
    every layer is decomposed (see `lipgnn.compress.als`), in float64, and several widths help each other. The scale of
    the scores stays that of the heads. Values and all else are kept as they are.

    Without a score norm the bias of the keys adds the same to all scores of a node, which the softmax does not see; it
    is dropped. With LipschitzNorm it enters the lengths, so both biases are decomposed with their maps, as a feature
    that is always 1. The norm also sees how long queries are beside keys. Components are therefore scaled so that the
    shared maps have the ratio of lengths that those of the heads have. Both rules for that norm are ours.

    Parameters
    ----------
    saved : a Graph Transformer, on the CPU.
    seed : of the decompositions' random starts.

    Raises
    ------
    UsageError : the model has no queries and keys to share, or shares them already, or cannot keep what bounds it.
    """

    def __init__(self, saved: SavedModel, *, seed: int = 0):
        _check(saved.spec)
        self.saved = saved
        self.full_width = saved.spec.width
        self._seed = seed
        self._convs = {name: m for name, m in saved.network.named_modules() if isinstance(m, TransformerConv)}
        self._tensors = {name: ScoreTensor.of_layer(conv) for name, conv in self._convs.items()}
        self._energies = {name: tensor.energy() for name, tensor in self._tensors.items()}
        self._known: dict[str, dict[int, Factors]] = {name: {} for name in self._convs}

    def at(self, shared_dim: int, progress: Progress = lambda *_: None) -> Compression:
        """The model with shared queries and keys of this width; 0 is the full width, as in --shared-dim of a run.

        Raises
        ------
        UsageError : the width is above the full one, or does not fit the stack.
        """
        width = shared_dim or self.full_width
        spec = self.saved.spec.with_values(head_sharing=COLLAB, shared_dim=shared_dim)
        weights, facts = dict(self.saved.network.state_dict()), []
        for done, (name, conv) in enumerate(self._convs.items()):
            progress(done, len(self._convs), width)
            own = self._own_width(name, width)
            error = 0.0
            if own == self._tensors[name].full_width:
                weights[f"{name}.mixing"] = _blocks(conv)
            else:
                factors = self._factors(name, own)
                error = relative_error(self._tensors[name], factors)
                weights |= {
                    f"{name}.{key}": value for key, value in _shared_maps(conv, self._tensors[name], factors).items()
                }
            weights[f"{name}.scale"] = torch.tensor(conv.out_feats**-0.5, dtype=conv.query.weight.dtype)
            facts.append(self._facts(name, own, error))
        progress(len(self._convs), len(self._convs), width)
        network = find_task(self.saved.task).network(spec, *self.saved.shape)
        network.load_state_dict(weights)
        return Compression(replace(self.saved, network=network.eval(), spec=spec), width, facts)

    def least(self, max_error: float, progress: Progress = lambda *_: None) -> int:
        """The least of sixteen widths, evenly up to the full one, at which the error of no layer is above `max_error`.

        No sum of R components is nearer than √(1 − energy of R dimensions); widths that this rules out are not tried.
        """
        ladder = sorted({max(1, self.full_width * step // 16) for step in range(1, 17)})
        names = list(self._convs)
        for width in ladder[:-1]:
            widths = {name: self._own_width(name, width) for name in names}
            if self.saved.spec.stack == "reversible" and width % 2:
                continue
            if any((1 - self._energy(name, widths[name])) ** 0.5 > max_error for name in names):
                continue
            for done, name in enumerate(names):
                progress(done, len(names), width)
                if relative_error(self._tensors[name], self._factors(name, widths[name])) > max_error:
                    # The layer that is met worst is asked first at the next width.
                    names.insert(0, names.pop(done))
                    break
            else:
                return width
        return self.full_width

    def _own_width(self, name: str, width: int) -> int:
        """Of a layer that is less wide than its network, as in a reversible stack, shared maps are as well."""
        return width * self._tensors[name].full_width // self.full_width

    def _energy(self, name: str, width: int) -> float:
        energies = self._energies[name]
        return energies[min(width, len(energies)) - 1].item()

    def _facts(self, name: str, width: int, error: float) -> LayerFacts:
        suggested = int((self._energies[name] < ENOUGH).sum()) + 1
        return LayerFacts(_label(name), self._energy(name, width), suggested, error)

    def _factors(self, name: str, width: int) -> Factors:
        """Of one layer, from the widest narrower decomposition that is known."""
        known = self._known[name]
        if width not in known:
            narrower = max((other for other in known if other < width), default=None)
            start = None if narrower is None else known[narrower]
            known[width] = decompose(self._tensors[name], width, start=start, seed=self._seed)
        return known[width]


def score_weights(network: nn.Module) -> dict[str, nn.Parameter]:
    """The weights that attention scores are made of, in a network of Graph Transformer layers, by name."""
    parts = {"query", "key", "mixing"}
    return {
        name: weight
        for name, weight in network.named_parameters()
        if name.startswith("blocks.") and parts & set(name.split("."))
    }


def _check(spec: RunSpec) -> None:
    if spec.model not in (fit := models_with("shared")):
        raise UsageError(
            f"Compression factors the products of queries and keys, and layers of model {spec.model!r} have none.",
            f"Give a model that was trained with --model {' or '.join(fit)}.",
        )
    if spec.head_sharing != NO_SHARING:
        raise UsageError(
            f"The heads of this model share queries and keys already (head_sharing is {spec.head_sharing!r}).",
            "Give the model that it was made from, or one that was trained without --head-sharing.",
        )
    if spec.weight_norm != NO_NORM:
        raise UsageError(
            f"The model bounds the maps of every head (weight_norm is {spec.weight_norm!r}), and maps that all heads "
            "share cannot keep these bounds.",
            "Give a model that was trained with --weight-norm none.",
        )


def _label(name: str) -> str:
    """`blocks.3.conv` → 4, `blocks.3.f.conv` → 4f."""
    _, block, *branch, _ = name.split(".")
    return f"{int(block) + 1}{''.join(branch)}"


def _blocks(conv: TransformerConv) -> torch.Tensor:
    """Every head has its own channels: (H, H·D) of ones in blocks."""
    own = torch.eye(conv.num_heads, dtype=conv.query.weight.dtype)
    return own.repeat_interleave(conv.out_feats, dim=1)


def _shared_maps(conv: TransformerConv, tensor: ScoreTensor, factors: Factors) -> dict[str, torch.Tensor]:
    """The weights of the shared maps, in the type of the layer's."""
    ratio = _ratios(tensor, factors).sqrt()
    sides = {"query": factors.query * ratio, "key": factors.key / ratio}
    parts = {"mixing": factors.mixing}
    features = conv.query.in_features
    for name, side in sides.items():
        parts[f"{name}.weight"] = side[:features].mT
        if conv.query.bias is not None:
            # Where the bias of keys was dropped, there is no last row.
            bias = side[features:].flatten()
            parts[f"{name}.bias"] = bias if len(bias) else side.new_zeros(factors.width)
    return {name: part.to(conv.query.weight.dtype).contiguous() for name, part in parts.items()}


def _ratios(tensor: ScoreTensor, factors: Factors) -> torch.Tensor:
    """How long queries are beside keys in the heads that use a component, (R,).

    It is the geometric mean of ‖Q_h‖ / ‖K_h‖ over the heads, with weights m_hr², so that heads apart keep theirs.
    """
    query, key = (torch.linalg.vector_norm(maps, dim=(1, 2)) for maps in (tensor.query, tensor.key))
    usable = (query > 0) & (key > 0)
    logarithms = torch.where(usable, query / torch.where(usable, key, 1.0), 1.0).log()  # (H,)
    weights = factors.mixing.square()
    return ((logarithms @ weights) / weights.sum(dim=0).clamp(min=torch.finfo(weights.dtype).tiny)).exp()
