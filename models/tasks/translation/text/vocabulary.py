"""Numbers of the tokens that every vocabulary has, as fairseq numbers them."""

from __future__ import annotations

START, PAD, END, UNKNOWN = 0, 1, 2, 3
"""``START`` is never said; decoders begin with ``END``, as the released models do."""
