"""Uncertainty for models that have none, and the choice among its kinds."""
