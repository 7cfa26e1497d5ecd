"""The one table behind every format: which runs belong together, and what they come to."""
