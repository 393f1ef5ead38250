"""Running the members of an ensemble: one module a kind of runtime."""
