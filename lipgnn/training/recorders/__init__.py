"""Recorders: numbers of every layer, taken while a run trains."""
