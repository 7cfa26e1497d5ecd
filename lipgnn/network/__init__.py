"""The deep stack, once for every kind of layer: encoder, blocks, decoder, and how their activations are kept."""
