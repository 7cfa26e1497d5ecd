"""The life of a run: its loop, its state from epoch to epoch, and what is saved of it."""
