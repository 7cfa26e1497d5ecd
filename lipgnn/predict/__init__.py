"""What a trained model says of a graph: classes with their probabilities, margins and certified radii, for every node.

The graph may be the one it was trained on or another of the same features, with or without labels and splits. Importing
this package does not import torch.
"""
