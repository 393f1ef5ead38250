"""What the translation task is: its head and its official conventions (Shifts 1.0, section 4 and appendix D)."""

from __future__ import annotations

from models.head import Head

GLEU_UNIT = "GLEU points, 0 to 100"
HYPOTHESES = Head(
    name="hypotheses",
    kind="sequence",
    unit="1",
    label="reference translation, text of tokens that whitespace separates",
    error="egleu_error",
    error_unit=GLEU_UNIT,
    acceptable=60.0,  # as released; the paper gives no number
    ensemble_measure="scr_pe",
    single_measure="nll",
    knowledge_measure="mkl",
)
HEADS = (HYPOTHESES,)
