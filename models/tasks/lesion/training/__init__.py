"""Training of lesion ensembles and the actions behind ``demur data`` and ``demur train``."""
