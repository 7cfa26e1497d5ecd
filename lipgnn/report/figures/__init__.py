"""Figures: what each needs, its panels and its drawing."""
