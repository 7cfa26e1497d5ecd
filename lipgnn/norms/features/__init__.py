"""Feature norms, one per file: (graph, x) → x, around a layer; x has shape (N, F), or (N, …, F)."""
