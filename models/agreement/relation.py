"""Relation of the difference of two labels of one unit to the error of one label."""

from typing import Literal

Relation = Literal["squared", "class", "uneven_class", "distance", "overlap", "bound"]
OF_CLASSES: tuple[Relation, ...] = ("class", "uneven_class")
"""Relations of labels that are classes."""
