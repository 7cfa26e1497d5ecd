"""Finite groups that act on points, and the graph of points × group on which attention respects them; numpy alone."""

from lipgnn.groups.action import Action
from lipgnn.groups.grid import act_on_grid, offsets_on_grid
from lipgnn.groups.group import Group
from lipgnn.groups.product import ProductGraph, Relation, product_graph

__all__ = ["Action", "Group", "ProductGraph", "Relation", "act_on_grid", "offsets_on_grid", "product_graph"]
