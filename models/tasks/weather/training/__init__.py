"""Training of weather ensembles and the actions behind ``demur data`` and ``demur train``."""
