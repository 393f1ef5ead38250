"""Figures of answers of the lesion task."""
