"""Numbers of the tokens that all vocabularies share, as in fairseq."""

START, PAD, END, UNKNOWN = 0, 1, 2, 3
"""Special tokens. ``START`` is never generated; decoders begin with ``END``, as in the released models."""
