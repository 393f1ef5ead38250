"""Figures of each row for each model: those of Tables 4 and 5 of Shifts 1.0, by the released code's conventions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from benchmarks.translation_tables.kept import Kept
from models import uncertainty
from models.assessment import detection, retention, text
from models.assessment.figures import Errors, Figures, Rules, figures
from models.tasks.translation.spec import HYPOTHESES
from models.uncertainty.sequences import SCORES

MEASURES = (*SCORES, "nll")
CURVE = 101
"""Points of a kept retention curve."""
Float64 = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Score:
    """Of the lines of a row under one model; all in % or points of 0 to 100 but for F1."""

    bleu: float
    chrf: float
    egleu: float
    maxgleu: float
    r_auc: float
    """Of 100 - eGLEU."""
    f1_auc: float
    f1_at_95: float
    roc_auc: float
    """Of telling these lines from those held out, or the shifted ones among them; NaN of what is held out itself."""


NAMES = tuple(field.name for field in fields(Score))
Scores = tuple[Score, ...]
"""One a model of a kind: the ensemble, or its members."""
Results = Mapping[tuple[str, str], Scores]
"""(row, kind) to figures; kinds are ``SINGLE`` and ``TOGETHER``."""
SINGLE, TOGETHER = "Single", "Ens"


@dataclass(frozen=True)
class Judged:
    """Lines under one model, with errors and uncertainty."""

    kept: Kept

    def __len__(self) -> int:
        return len(self.kept)

    @cached_property
    def weights(self) -> Float64:
        """Confidences of hypotheses [N, H]."""
        return text.n_best_weights(-self.kept.score.astype(np.float64))

    @cached_property
    def errors(self) -> Float64:
        """100 - expected GLEU, % [N]."""
        return text.egleu_error(self.kept.gleus, self.weights)

    @property
    def own(self) -> str:
        """The measure that defers: SCR-PE of the ensemble, negative log-likelihood of a member."""
        return HYPOTHESES.own_measure(len(self.kept.values) > 0)

    def ranks(self, measure: str | None = None) -> NDArray[np.floating]:
        """Uncertainty of each line [N]."""
        return uncertainty.score(self.kept.predictive, measure or self.own)

    @property
    def plain_egleu(self) -> float:
        """Expected GLEU as services count it, tokens being what whitespace separates, %."""
        return float(text.egleu(self.kept.plain, self.weights).mean())

    def figures(self, measure: str | None = None, shifted: Mask | None = None) -> Figures:
        """Of retention."""
        return figures(Errors(self.errors, HYPOTHESES.acceptable, Rules()), self.ranks(measure), shifted)


def score(one: Judged, held: Judged, shifted: Mask) -> Score:
    """Figures of a row.

    Args:
        held: what is held out in-domain, under the same model.
        shifted: which lines of the row are of no trained domain [N].
    """
    from sacrebleu.metrics import CHRF

    found = one.figures()
    references = one.kept.references
    return Score(
        bleu=text.bleu(references, one.kept.first),
        chrf=float(CHRF().corpus_score(one.kept.first, [references]).score),
        egleu=100 - float(one.errors.mean()),
        maxgleu=float(text.max_gleu(one.kept.gleus).mean()),
        r_auc=found.r_auc,
        f1_auc=found.f1_auc,
        f1_at_95=found.f1_at_95,
        roc_auc=100 * told(one, held, shifted),
    )


def told(one: Judged, held: Judged, shifted: Mask, measure: str | None = None) -> float:
    """How well shifted lines are told from those held out, 0 to 1; a row that has both needs no others."""
    if not shifted.any():
        return float("nan")
    if not shifted.all():
        return detection.roc_auc(shifted, one.ranks(measure))
    flags = np.arange(len(held) + len(one)) >= len(held)
    return detection.roc_auc(flags, np.concatenate([held.ranks(measure), one.ranks(measure)]))


def mean(scores: Scores, name: str) -> float:
    """Of a figure, over the models of a kind."""
    return float(np.mean([getattr(one, name) for one in scores]))


def deviation(scores: Scores, name: str) -> float:
    """Standard deviation (ddof 0) over the models of a kind."""
    return float(np.std([getattr(one, name) for one in scores]))


def curves(every: Sequence[Judged], mask: Mask | None = None) -> tuple[Float64, Float64]:
    """Error- and F1-retention at ``CURVE`` retained shares from 0 to 1, means over models of a kind."""
    both = []
    for one in every:
        kept = slice(None) if mask is None else mask
        errors, ranks = one.errors[kept], one.ranks()[kept]
        both.append(
            (
                _thin(retention.error_curve(errors, ranks)),
                _thin(retention.f_curve(errors, ranks, HYPOTHESES.acceptable or 0.0)),
            )
        )
    error, f1 = np.mean(both, axis=0)
    return error, f1


def bounds(one: Judged) -> tuple[Float64, Float64]:
    """Error curves at random and of a measure that ranks as errors do."""
    return _thin(retention.random_curve(one.errors)), _thin(retention.optimal_curve(one.errors))


def _thin(curve: Float64) -> Float64:
    return np.interp(np.linspace(0, 1, CURVE), np.linspace(0, 1, len(curve)), curve)
