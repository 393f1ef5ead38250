"""Worked example of a task of one's own: handwritten digits with an ensemble that defers what it cannot read."""
