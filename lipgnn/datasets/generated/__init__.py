"""Data sets that are made when they are loaded."""
