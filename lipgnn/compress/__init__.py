"""Trained Graph Transformers made smaller: one query and one key projection, shared by all heads of a layer."""

from lipgnn.compress.compression import Compression, Compressor, LayerFacts, check_compressible, compress_model
from lipgnn.compress.inputs import moments_of

__all__ = ["Compression", "Compressor", "LayerFacts", "check_compressible", "compress_model", "moments_of"]
