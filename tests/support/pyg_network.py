"""The recipe of Luo et al. (NeurIPS 2024) written with PyTorch Geometric, for comparison: one GAT head, a linear map
beside every layer, BatchNorm, ReLU, dropout. Called as a program, it times epochs of it beside those of lipgnn:

    LIPGNN_DATA=FOLDER python tests/support/pyg_network.py --dataset minesweeper --layers 15 --hidden 64
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings

import torch
from torch import nn

with warnings.catch_warnings():
    # PyG uses what torch no longer recommends.
    warnings.simplefilter("ignore", DeprecationWarning)
    from torch_geometric.nn import GATConv


class PygNetwork(nn.Module):
    """Encoder or none, layers x ← ReLU(BatchNorm(conv(x) + W x)), decoder; dropout before each."""

    def __init__(
        self, in_feats: int, num_classes: int, *, layers: int, width: int, dropout: float, encoder: bool = True
    ):
        super().__init__()
        self.encoder = nn.Linear(in_feats, width) if encoder else nn.Identity()
        widths = [width if encoder else in_feats, *[width] * (layers - 1)]
        self.convs = nn.ModuleList(GATConv(own, width, bias=False, add_self_loops=False) for own in widths)
        self.beside = nn.ModuleList(nn.Linear(own, width, bias=False) for own in widths)
        self.norms = nn.ModuleList(nn.BatchNorm1d(width) for _ in range(layers))
        self.decoder = nn.Linear(width, num_classes)
        self.dropout = nn.Dropout(dropout)

    def forward(self, edges: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        """Edges (2, E) with self-loops, features (N, F) → logits (N, C)."""
        x = self.encoder(self.dropout(x))
        for conv, beside, norm in zip(self.convs, self.beside, self.norms, strict=True):
            x = self.dropout(x)
            x = torch.relu(norm(conv(x, edges) + beside(x)))
        return self.decoder(self.dropout(x))

    @torch.no_grad()
    def copy_from(self, network: nn.Module) -> PygNetwork:
        """Take the weights of a network of lipgnn with `--heads 1 --residual linear --norm batch --bias none`."""
        self.encoder.load_state_dict(network.encoder.state_dict())
        self.decoder.load_state_dict(network.decoder.state_dict())
        parts = zip(network.blocks, self.convs, self.beside, self.norms, strict=True)
        for block, conv, beside, norm in parts:
            conv.lin.weight.copy_(block.conv.fc.weight)
            conv.att_src.copy_(block.conv.attn_l)
            conv.att_dst.copy_(block.conv.attn_r)
            beside.load_state_dict(block.beside.state_dict())
            (own,) = (part for part in block.norm.modules() if isinstance(part, nn.BatchNorm1d))
            norm.load_state_dict(own.state_dict())
        return self


def epochs_of_pyg(spec, dataset):
    """A function that trains one epoch and evaluates, as lipgnn does."""
    network = PygNetwork(
        dataset.num_features, dataset.num_classes, layers=spec.layers, width=spec.width, dropout=spec.dropout
    )
    adam = torch.optim.Adam(network.parameters(), lr=spec.lr, fused=True)
    edges, labels = torch.stack(dataset.graph.edges()), torch.as_tensor(dataset.labels)
    features = dataset.features.to_dense() if dataset.features.is_sparse else dataset.features
    train = torch.as_tensor(dataset.split.parts["train"]).nonzero().squeeze(1)

    def epoch() -> None:
        network.train()
        adam.zero_grad()
        nn.functional.cross_entropy(network(edges, features)[train], labels[train]).backward()
        adam.step()
        network.eval()
        with torch.no_grad():
            network(edges, features)

    return epoch


def main() -> None:
    """Time epochs of both in turns, and print the ratio of the medians."""
    from lipgnn.spec.sources import resolve
    from lipgnn.tasks import load
    from lipgnn.training.state import Training

    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--dataset", default="minesweeper")
    parser.add_argument("--layers", type=int, default=15)
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=7)
    asked = parser.parse_args()
    options = {"dataset": asked.dataset, "layers": asked.layers, "hidden": asked.hidden, "heads": 1, "norm": "batch"}
    spec = resolve({**options, "residual": "linear", "bias": "none", "device": "cpu", "recompute_every": "0"}, {}).spec
    dataset = load(spec.dataset, split=spec.split, features=spec.features)
    ways = {"lipgnn": Training(spec, dataset, torch.device("cpu")).step, "pyg": epochs_of_pyg(spec, dataset)}
    times = {name: [] for name in ways}
    for _ in range(asked.epochs + 1):
        for name, epoch in ways.items():
            start = time.perf_counter()
            epoch()
            times[name].append(time.perf_counter() - start)
    medians = {name: statistics.median(seconds[1:]) for name, seconds in times.items()}
    for name, seconds in times.items():
        print(f"{name}: {medians[name]:.3f} s per epoch ({min(seconds[1:]):.3f} to {max(seconds[1:]):.3f})")
    print(f"ratio {medians['pyg'] / medians['lipgnn']:.2f} with {torch.get_num_threads()} threads")


if __name__ == "__main__":
    main()
