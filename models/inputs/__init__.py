"""Rows of inputs against their schema, the range and the density of the training data."""
