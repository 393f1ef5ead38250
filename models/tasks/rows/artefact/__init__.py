"""Build of artefacts with heads of their own."""
