"""Graph layers as plain torch modules; each is called as `layer(graph, features)`."""

from lipgnn.nn.gat import GATConv
from lipgnn.nn.gcn import GCNConv
from lipgnn.nn.ggnn import GGNNConv
from lipgnn.nn.gin import GINConv
from lipgnn.nn.transformer import TransformerConv

__all__ = ["GATConv", "GCNConv", "GGNNConv", "GINConv", "TransformerConv"]
