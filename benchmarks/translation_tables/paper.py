"""Tables 4 and 5 of Shifts 1.0 (Malinin et al., 2021): an ensemble of three large Transformers."""

from __future__ import annotations

from benchmarks.translation_tables.judge import NAMES, SINGLE, TOGETHER, Results, Score
from benchmarks.translation_tables.rows import AWAY, FULL, IN

_TABLE_4 = {
    ("dev", IN): ((32.04, 34.45, 41.08), (32.73, 35.09, 42.00)),
    ("dev", AWAY): ((20.65, 22.66, 28.28), (21.06, 23.00, 28.63)),
    ("dev", FULL): ((28.89, 29.67, 35.89), (29.52, 30.19, 36.58)),
    ("eval", IN): ((29.52, 30.39, 36.19), (30.08, 30.88, 36.82)),
    ("eval", AWAY): ((21.00, 23.19, 29.35), (21.54, 23.60, 29.88)),
    ("eval", FULL): ((26.39, 26.76, 32.74), (26.92, 27.20, 33.31)),
}
"""BLEU, eGLEU, maxGLEU: of single models (means), and of the ensemble."""
_TABLE_5 = {
    "dev": ((33.22, 0.43, 0.42, 68.90), (32.87, 0.44, 0.43, 69.30)),
    "eval": ((34.80, 0.37, 0.34, 79.18), (34.57, 0.38, 0.36, 80.10)),
}
"""R-AUC, F1-AUC, F1@95, ROC-AUC (%), of both parts together."""
SPLITS = ("dev", "eval")


def results(split: str) -> Results:
    """As ours are; NaN where the paper has no number."""
    nan = dict.fromkeys(NAMES, float("nan"))
    found = {}
    for (own, row), both in _TABLE_4.items():
        for place, kind in enumerate((SINGLE, TOGETHER)):
            if own == split:
                areas = _TABLE_5[split][place] if row == FULL else ()
                known = dict(zip(("bleu", "egleu", "maxgleu"), both[place], strict=True))
                known |= dict(zip(("r_auc", "f1_auc", "f1_at_95", "roc_auc"), areas, strict=bool(areas)))
                found[row, kind] = (Score(**nan | known),)
    return found
