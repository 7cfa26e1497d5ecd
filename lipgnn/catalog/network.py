"""Names and descriptions of what networks are made of beside layers and norms: residuals and the rest."""

from __future__ import annotations

from lipgnn.catalog.entry import Entry

RESIDUALS: dict[str, Entry] = {
    "none": Entry("a layer's output replaces its input"),
    "identity": Entry("a layer's output is added to its input"),
    "scaled": Entry("a layer's output is divided by √layers and added to its input (Hayou et al. 2021)"),
    "initial": Entry(
        "a layer's output is mixed with the first features, by maps near the identity: GCNII (Chen et al. 2020)"
    ),
    "linear": Entry("a layer's input is added to its output through a learned map, before norm and activation"),
    "gated": Entry("a layer's output is mixed with its input, in shares learned for every node (Shi et al. 2021)"),
}
# Those that add a layer's output to its input.
SUMS = ("identity", "scaled")

NORM_PLACES: dict[str, Entry] = {
    "branch": Entry("on the output of a layer, before its activation and the residual sum"),
    "sum": Entry("after the activation and the residual sum, also called post-norm (Alon & Yahav 2021)"),
    "pre": Entry("on the input of a layer, which the residual passes by"),
}

ACTIVATIONS = ("elu", "relu", "leaky-relu", "gelu", "tanh", "none")

ENCODERS: dict[str, Entry] = {
    "linear": Entry("dropout and a linear map to the width of the network"),
    "none": Entry(
        "nothing: the first layer takes the features themselves, with its own dropout, and leads to the width of the "
        "network (Luo et al. 2024)"
    ),
}

SKIPS = ("own", "none")

BIASES: dict[str, Entry] = {
    "layers": Entry("every layer has a bias"),
    "none": Entry("only encoder and decoder have one, as in GCNII (Chen et al. 2020)"),
}

DROPOUT_PLACES: dict[str, Entry] = {
    "input": Entry("on the features, the input of every layer and that of the decoder, as in GCNII (Chen et al. 2020)"),
    "layers": Entry("on the output of every layer, and on nothing before the first one (Luo et al. 2024)"),
}

JUMPS: dict[str, Entry] = {
    "none": Entry("the decoder is given the last layer's output"),
    "sum": Entry("the decoder is given the sum of all layers' outputs"),
    "concat": Entry("the decoder is given the outputs of all layers side by side (Xu et al. 2018)"),
    "max": Entry("the decoder is given the largest output of all layers in every channel (Xu et al. 2018)"),
}

MLPS: dict[str, Entry] = {
    "none": Entry("no MLP"),
    "2x": Entry("an MLP of two maps, twice as wide in between"),
}

INITS: dict[str, Entry] = {
    "glorot": Entry("maps start as the authors of the layer draw them"),
    "pyg": Entry(
        "layers start as PyTorch Geometric draws GAT and GCN, and encoder, decoder and the map of residual linear as "
        "torch draws linear maps (Luo et al. 2024)"
    ),
    "torch-ends": Entry(
        "encoder and decoder start as torch draws them, and the map of residual linear by Glorot's rule"
    ),
    "orthogonal": Entry("maps start with orthonormal rows or columns for every head"),
    "zero-last": Entry("every layer starts by adding nothing"),
    "balanced": Entry("the network starts linear, with maps in balance and equal attention (Mustafa et al. 2023)"),
}

TORCH_INITS = ("pyg", "torch-ends")
"""Under these encoder and decoder start as torch draws them."""

MIXING_INITS: dict[str, Entry] = {
    "normal": Entry("every head starts with a random mixture of all shared channels, as the authors draw it"),
    "block": Entry("every head starts with shared channels of its own, as separate heads have them"),
}

STACKS: dict[str, Entry] = {
    "plain": Entry("blocks follow each other, and all activations are kept"),
    "reversible": Entry(
        "blocks act on two halves of the features, and activations are recomputed by inversion (Li et al. 2021)"
    ),
}

KERNELS: dict[str, Entry] = {
    "auto": Entry("the fastest kernel that applies"),
    "dgl": Entry("DGL's message passing: the reference, on CPU and CUDA"),
    "fused": Entry("the whole attention step in one compiled kernel, on the CPU"),
    "triton": Entry("the algorithm of fused for CUDA, with any torch that has Triton"),
}
