"""What a run trains on, step by step, and what it is evaluated on: a whole graph, samples of it, or many graphs."""

from lipgnn.tasks.batches.batch import WHOLE, Batch, Batches, Share, logits_of

__all__ = ["WHOLE", "Batch", "Batches", "Share", "logits_of"]
