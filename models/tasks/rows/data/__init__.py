"""Labelled tables, and the schema that they and a model suggest."""
