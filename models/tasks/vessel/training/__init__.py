"""Training of vessel ensembles and the actions behind ``demur data`` and ``demur train``."""
