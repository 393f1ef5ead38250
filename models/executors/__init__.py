"""Executors of the members of an ensemble: one module per kind of runtime."""
