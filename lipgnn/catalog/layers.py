"""The kinds of layers, by name; a new one is one class in `lipgnn.nn` and one entry here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lipgnn.catalog.entry import Entry, load_class
from lipgnn.catalog.norms import ADDITIVE, DOT_PRODUCT, DYNAMIC, NO_NORM


@dataclass(frozen=True, kw_only=True)
class LayerEntry(Entry):
    """A kind of layer, with what has to be known of it before there is one; its class says the same (see lipgnn.nn).

    Attributes
    ----------
    attention : the kind of its attention; None where it has none.
    linear_maps : whether weight norms and initializations find linear maps in it.
    value_map : whether one linear map leads from features, of any width, to what a node adds up of its neighbours.
    linear_skip : whether it has a linear skip of its own.
    typed_edges : whether it tells types of edges apart; its shared forms do not.
    closed : whether nothing may act between its layers, which pass on more than features.
    shared : its forms whose heads share queries and keys: for every kind of sharing the class, as "module:Class".
    task : the one task that it is of, if it is no layer for features of any kind.
    """

    attention: str | None = None
    linear_maps: bool = False
    value_map: bool = False
    linear_skip: bool = False
    typed_edges: bool = False
    closed: bool = False
    shared: Mapping[str, str] = field(default_factory=dict)
    task: str | None = None

    def load_shared(self, kind: str) -> Any:
        """The class of its form with this kind of sharing."""
        return load_class(self.shared[kind])


# Defaults of layers that go with nothing but themselves.
_UNTOUCHED = {
    "norm": NO_NORM,
    "residual": "none",
    "activation": "none",
    "encoder_activation": "none",
    "bias": "layers",
    "layer_dropout": 0.0,
}

MODELS: dict[str, LayerEntry] = {
    "gat": LayerEntry(
        "graph attention network (Veličković et al. 2018)",
        implementation="lipgnn.nn.gat:GATConv",
        attention=ADDITIVE,
        linear_maps=True,
        value_map=True,
    ),
    "gatv2": LayerEntry(
        "graph attention whose ranking of neighbours depends on the node (Brody et al. 2022)",
        implementation="lipgnn.nn.gatv2:GATv2Conv",
        attention=DYNAMIC,
        linear_maps=True,
        value_map=True,
    ),
    "gat-sep": LayerEntry(
        "graph attention with the node itself apart from its neighbours (Platonov et al. 2023)",
        implementation="lipgnn.nn.gat_sep:GATSepConv",
        attention=ADDITIVE,
        linear_maps=True,
    ),
    "gt": LayerEntry(
        "graph transformer with linear skip (Shi et al. 2021)",
        # The paper's dot-product formula has no further constant, the additive one has 4.
        {"kappa": 1.0},
        implementation="lipgnn.nn.transformer:TransformerConv",
        attention=DOT_PRODUCT,
        linear_maps=True,
        value_map=True,
        linear_skip=True,
        typed_edges=True,
        shared={
            "collab": "lipgnn.nn.shared_heads:SharedHeadsConv",
            "mqa": "lipgnn.nn.grouped_heads:GroupedHeadsConv",
            "gqa": "lipgnn.nn.grouped_heads:GroupedHeadsConv",
        },
    ),
    # These have no attention scores for the default norm to act on.
    "gcn": LayerEntry(
        "graph convolution (Kipf & Welling 2017)",
        {"norm": NO_NORM},
        implementation="lipgnn.nn.gcn:GCNConv",
        linear_maps=True,
        value_map=True,
    ),
    "sage": LayerEntry(
        "GraphSAGE with the mean of the neighbours (Hamilton et al. 2017)",
        {"norm": NO_NORM},
        implementation="lipgnn.nn.sage:SAGEConv",
        linear_maps=True,
        value_map=True,
        linear_skip=True,
    ),
    "gin": LayerEntry(
        "graph isomorphism network (Xu et al. 2019)",
        {"norm": NO_NORM},
        implementation="lipgnn.nn.gin:GINConv",
        linear_maps=True,
    ),
    "ggnn": LayerEntry(
        "gated graph network, one step per layer (Li et al. 2016)",
        {"norm": NO_NORM},
        implementation="lipgnn.nn.ggnn:GGNNConv",
    ),
    "aero": LayerEntry(
        "attention over edges and hops, AERO-GNN (Lee et al. 2023)",
        {**_UNTOUCHED, "heads": 1, "hidden": 64},
        implementation="lipgnn.nn.aero:AeroConv",
        closed=True,
    ),
    "diffusion": LayerEntry(
        "what was observed, diffused along the edges, a hop per layer (Cordonnier & Loukas 2019)",
        _UNTOUCHED,
        implementation="lipgnn.nn.diffusion:Diffusion",
        closed=True,
        task="paths",
    ),
}


def layers_for(task: str) -> list[str]:
    """The names of the layers that networks of a task can have; pixels of images lie to each other as edges say."""
    layers = [name for name, entry in MODELS.items() if entry.task in (None, task)]
    return [name for name in layers if MODELS[name].typed_edges] if task == "images" else layers


def models_with(fact: str) -> list[str]:
    """The names of the layers whose entry says so, by a fact such as attention, linear_maps or typed_edges."""
    return [name for name, entry in MODELS.items() if getattr(entry, fact)]
