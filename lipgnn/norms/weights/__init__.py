"""Weight norms, one per file: linear maps that act through another matrix than the one that is learned."""
