"""Getting data: downloads, archives, and files turned into one npz."""
