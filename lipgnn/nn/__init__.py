"""Layers as plain torch modules; those on graphs are called as `layer(graph, features)`."""

from lipgnn.nn.aero import AeroConv
from lipgnn.nn.attention import AttentionConv
from lipgnn.nn.dense_features import DenseFeatures
from lipgnn.nn.feature_linear import FeatureLinear
from lipgnn.nn.gat import GATConv
from lipgnn.nn.gat_sep import GATSepConv
from lipgnn.nn.gatv2 import GATv2Conv
from lipgnn.nn.gcn import GCNConv
from lipgnn.nn.ggnn import GGNNConv
from lipgnn.nn.gin import GINConv
from lipgnn.nn.grouped_heads import GroupedHeadsConv
from lipgnn.nn.key_value_embedding import KeyValueEmbedding
from lipgnn.nn.linear_map import LinearMap, bound_weights, initialize
from lipgnn.nn.mlp import Mlp
from lipgnn.nn.sage import SAGEConv
from lipgnn.nn.shared_heads import SharedHeadsConv
from lipgnn.nn.transformer import TransformerConv

__all__ = [
    "AeroConv",
    "AttentionConv",
    "DenseFeatures",
    "FeatureLinear",
    "GATConv",
    "GATSepConv",
    "GATv2Conv",
    "GCNConv",
    "GGNNConv",
    "GINConv",
    "GroupedHeadsConv",
    "KeyValueEmbedding",
    "LinearMap",
    "Mlp",
    "SAGEConv",
    "SharedHeadsConv",
    "TransformerConv",
    "bound_weights",
    "initialize",
]
