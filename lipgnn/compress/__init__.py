"""Trained Graph Transformers made smaller: one query and one key projection, shared by all heads of a layer."""

from lipgnn.compress.compression import Compression, Compressor, LayerFacts, compress_model

__all__ = ["Compression", "Compressor", "LayerFacts", "compress_model"]
