"""Arithmetic of the live monitor: streams, windows, their figures and baselines; arrays in, arrays out."""
