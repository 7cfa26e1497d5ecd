"""What of a gradient is sent to other workers, what is kept for later, and how many bits that takes."""

from lipgnn.training.gradients.exchange import Exchange
from lipgnn.training.gradients.hooks import ONE_BUCKET, register
from lipgnn.training.gradients.mean import WeightedMean
from lipgnn.training.gradients.memory import Piece, hand_on, pieces_of

__all__ = ["ONE_BUCKET", "Exchange", "Piece", "WeightedMean", "hand_on", "pieces_of", "register"]
