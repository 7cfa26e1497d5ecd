"""Trained Graph Transformers made smaller: one query and one key projection, shared by all heads of a layer."""
