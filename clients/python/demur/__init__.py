"""Client of Demur services."""
