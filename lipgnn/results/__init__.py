"""What runs leave behind: the store, the rows of its results, recordings, and the archive kept with the code."""
