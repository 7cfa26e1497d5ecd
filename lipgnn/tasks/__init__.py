"""What is predicted and how it is scored: one task a file, its batches beside it."""
