"""What depth does to a network: measurements of features, gradients and attention, layer by layer."""
