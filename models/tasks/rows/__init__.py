"""Artefacts from any trained model of a table and some labelled rows."""
