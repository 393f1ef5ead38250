"""Training of motion ensembles and the actions behind ``demur data`` and ``demur train``."""
