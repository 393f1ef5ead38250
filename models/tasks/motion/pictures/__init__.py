"""Figures of answers of the motion task."""
