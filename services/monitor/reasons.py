"""Why a window's figures may not be believed: all words that alerts can name."""

from __future__ import annotations

REASONS = frozenset(
    {
        *("no_units", "no_labels", "few_labels", "heavy_label", "positivity", "mismatch", "incomplete", "young"),
        *("gap", "lag", "reading", "ledger"),
    }
)
"""Those of ``models.estimation.gates``, and of the ledgers: units that are missing, a process that is not heard of, a
history that is being read, a ledger that cannot be read."""
