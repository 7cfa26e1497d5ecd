"""A saved Graph Transformer with queries and keys that its heads share, and what that does to its layers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import torch
from torch import nn

from lipgnn.catalog import NO_NORM, find_task, models_with
from lipgnn.compress.layer import Layer
from lipgnn.errors import UsageError
from lipgnn.nn.transformer import TransformerConv
from lipgnn.spec.head_sharing import COLLAB, NO_SHARING
from lipgnn.tasks.saved import SavedModel

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
    error : the relative error of the decomposition: of weights, or of scores where these were to be met.
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

    Parameters
    ----------
    saved : a Graph Transformer.
    seed : of the decompositions' random starts.
    moments : of every layer's input (see `lipgnn.compress.inputs`), where scores are to be met, and not weights.

    Raises
    ------
    UsageError : the model has no queries and keys to share, or shares them already, or cannot keep what bounds it.
    """

    def __init__(self, saved: SavedModel, *, seed: int = 0, moments: Mapping[str, torch.Tensor] | None = None):
        check_compressible(saved)
        self.saved = saved
        self.full_width = saved.spec.width
        self._layers = {
            name: Layer(module, seed=seed, moments=moments[name] if moments else None)
            for name, module in saved.network.named_modules()
            if isinstance(module, TransformerConv)
        }

    def at(self, shared_dim: int, progress: Progress = lambda *_: None) -> Compression:
        """The model with shared queries and keys of this width; 0 is the full width, as in --shared-dim of a run.

        Raises
        ------
        UsageError : the width is above the full one, or does not fit the stack.
        """
        width = shared_dim or self.full_width
        spec = self.saved.spec.with_values(head_sharing=COLLAB, shared_dim=shared_dim)
        weights, facts = dict(self.saved.network.state_dict()), []
        for done, (name, layer) in enumerate(self._layers.items()):
            progress(done, len(self._layers), width)
            own = self._own_width(layer, width)
            weights |= {f"{name}.{part}": value for part, value in layer.weights(own).items()}
            facts.append(LayerFacts(_label(name), layer.energy(own), layer.suggested, layer.error(own)))
        progress(len(self._layers), len(self._layers), width)
        network = find_task(self.saved.task).network(spec, *self.saved.shape)
        network.load_state_dict(weights)
        return Compression(replace(self.saved, network=network.eval(), spec=spec), width, facts)

    def least(self, max_error: float, progress: Progress = lambda *_: None) -> int:
        """The least of sixteen widths, evenly up to the full one, at which the error of no layer is above `max_error`.

        No sum of R components is nearer than √(1 − energy of R dimensions); widths that this rules out are not tried.
        """
        layers = list(self._layers.values())
        for width in self._ladder():
            if any((1 - layer.energy(self._own_width(layer, width))) ** 0.5 > max_error for layer in layers):
                continue
            for done, layer in enumerate(layers):
                progress(done, len(layers), width)
                if layer.error(self._own_width(layer, width)) > max_error:
                    # The layer that is met worst is asked first at the next width.
                    layers.insert(0, layers.pop(done))
                    break
            else:
                return width
        return self.full_width

    def _ladder(self) -> list[int]:
        """Sixteenths of the full width but for itself, those that the stack can have."""
        step = 2 if self.saved.spec.stack == "reversible" else 1
        return sorted({max(step, self.full_width * part // 16 // step * step) for part in range(1, 16)})

    def _own_width(self, layer: Layer, width: int) -> int:
        """Of a layer that is less wide than its network, as in a reversible stack, shared maps are as well."""
        return width * layer.tensor.full_width // self.full_width


def score_weights(network: nn.Module) -> dict[str, nn.Parameter]:
    """The weights that attention scores are made of, in a network of Graph Transformer layers, by name."""
    parts = {"query", "key", "mixing"}
    return {
        name: weight
        for name, weight in network.named_parameters()
        if name.startswith("blocks.") and parts & set(name.split("."))
    }


def check_compressible(saved: SavedModel) -> None:
    """Refuse a model that cannot be compressed.

    Raises
    ------
    UsageError : says why.
    """
    spec = saved.spec
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
    if any(getattr(module, "edge_types", 0) for module in saved.network.modules()):
        raise UsageError(
            "The keys of this model have codes of edge types for every head, which shared keys cannot have.",
            "Give a model of data without edge types.",
        )


def _label(name: str) -> str:
    """`blocks.3.conv` → 4, `blocks.3.f.conv` → 4f."""
    _, block, *branch, _ = name.split(".")
    return f"{int(block) + 1}{''.join(branch)}"
