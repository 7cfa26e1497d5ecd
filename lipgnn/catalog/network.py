"""Names and descriptions of what networks are made of beside layers and norms: residuals and the rest."""

from __future__ import annotations

from lipgnn.catalog.entry import Entry

RESIDUALS: dict[str, Entry] = {
    "none": Entry("a layer's output is all there is"),
    "identity": Entry("added to its input"),
    "scaled": Entry("divided by √layers and added to its input (Hayou et al. 2021)"),
    "initial": Entry("mixed with the first features, by maps near the identity: GCNII (Chen et al. 2020)"),
    "gated": Entry("mixed with its input, in shares learned for every node (Shi et al. 2021)"),
}
# Those that add a layer's output to its input.
SUMS = ("identity", "scaled")

NORM_PLACES: dict[str, Entry] = {
    "branch": Entry("on the output of a layer, before its activation and the residual sum"),
    "sum": Entry("after the activation and the residual sum, also called post-norm (Alon & Yahav 2021)"),
    "pre": Entry("on the input of a layer, which the residual passes by"),
}

ACTIVATIONS = ("elu", "relu", "leaky-relu", "gelu", "tanh", "none")

SKIPS = ("own", "none")

MLPS: dict[str, Entry] = {
    "none": Entry("no"),
    "2x": Entry("of two maps, twice as wide in between"),
}

INITS: dict[str, Entry] = {
    "glorot": Entry("as the layer is published"),
    "orthogonal": Entry("orthonormal rows or columns for every head"),
    "zero-last": Entry("every layer starts by adding nothing"),
}

STACKS: dict[str, Entry] = {
    "plain": Entry("every block after the other, all activations kept"),
    "reversible": Entry("two halves of the features, activations recomputed by inversion (Li et al. 2021)"),
}

KERNELS: dict[str, Entry] = {
    "auto": Entry("the fastest that applies"),
    "dgl": Entry("DGL's message passing: the reference, on CPU and CUDA"),
    "fused": Entry("the whole attention step in one compiled kernel, on the CPU"),
    "triton": Entry("the same algorithm for CUDA, with any torch that has Triton"),
}
