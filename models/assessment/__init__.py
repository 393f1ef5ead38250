"""Figures that judge predictions and uncertainties: pure functions of arrays."""
