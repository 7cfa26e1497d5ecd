"""Numbers that say what depth does to features, gradients and attention."""
