"""Figures of predictions and uncertainties: pure functions of arrays."""
