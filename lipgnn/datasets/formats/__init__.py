"""Formats that data sets can be read from, one module each."""
