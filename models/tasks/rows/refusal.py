"""Refusal of a model or of data from which no artefact can be built."""


class Refused(ValueError):
    """The model, the data or an option cannot be used; the message names it, what is allowed, and what to do."""
