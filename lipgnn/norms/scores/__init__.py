"""Score norms, one per file: attention scores divided by a bound, before the softmax."""
