"""Training of translation ensembles and the actions behind ``demur data`` and ``demur train``."""
