"""Figures of each row for each model: those of Tables 4 and 5 of Shifts 1.0, by the released code's conventions."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from models import uncertainty
from models.assessment import detection, retention, text
from models.assessment.figures import Errors, Figures, Rules, figures
from models.manifest import numeric_profile
from models.tasks.translation.artefact import calibration as calibrating
from models.tasks.translation.artefact.ensemble import executor
from models.tasks.translation.spec import HYPOTHESES
from models.uncertainty.sequences import SCORES
from services.policy.decision import Decision, Policy, Shift, choose, decide
from studies.translation_tables.data import HELD, NTREX, SHIFTED, TATOEBA, WMT22, WMT24
from studies.translation_tables.kept import Kept, joined
from studies.translation_tables.plan import ENSEMBLE, RETENTION, SERVED

MEASURES = (*SCORES, "nll")
CURVE = 101
"""Number of points of a kept retention curve."""
Float64 = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Score:
    """Figures of the lines of a row under one model; all in % or points of 0 to 100, except F1."""

    bleu: float
    chrf: float
    egleu: float
    maxgleu: float
    r_auc: float
    """R-AUC of 100 - eGLEU."""
    f1_auc: float
    f1_at_95: float
    roc_auc: float
    """ROC-AUC of detecting these lines among held-out ones, or the shifted lines among them; NaN for held-out lines."""


NAMES = tuple(field.name for field in fields(Score))
Scores = tuple[Score, ...]
"""One score per model of a kind: the ensemble, or its members."""
Results = Mapping[tuple[str, str], Scores]
"""Scores by (row, kind); kinds are ``SINGLE`` and ``TOGETHER``."""
SINGLE, TOGETHER = "Single", "Ens"


@dataclass(frozen=True)
class ScoredLines:
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
        """Errors 100 - expected GLEU, % [N]."""
        return text.egleu_error(self.kept.gleus, self.weights)

    @property
    def own(self) -> str:
        """Measure that defers: SCR-PE of the ensemble, negative log-likelihood of a member."""
        return HYPOTHESES.own_measure(len(self.kept.values) > 0)

    def ranks(self, measure: str | None = None) -> NDArray[np.floating]:
        """Return the uncertainty of each line [N]."""
        return uncertainty.score(self.kept.predictive, measure or self.own)

    @property
    def plain_egleu(self) -> float:
        """Expected GLEU as services count it, with whitespace-separated tokens, %."""
        return float(text.egleu(self.kept.plain, self.weights).mean())

    def figures(self, measure: str | None = None, shifted: Mask | None = None) -> Figures:
        """Return the retention figures."""
        return figures(Errors(self.errors, HYPOTHESES.acceptable, Rules()), self.ranks(measure), shifted)


def score(lines: ScoredLines, held: ScoredLines, shifted: Mask) -> Score:
    """Return the figures of a row.

    Args:
        held: held-out in-domain lines, under the same model.
        shifted: mask of the row's lines that are of no trained domain [N].
    """
    from sacrebleu.metrics import CHRF

    retained = lines.figures()
    references = lines.kept.references
    return Score(
        bleu=text.bleu(references, lines.kept.first),
        chrf=float(CHRF().corpus_score(lines.kept.first, [references]).score),
        egleu=100 - float(lines.errors.mean()),
        maxgleu=float(text.max_gleu(lines.kept.gleus).mean()),
        r_auc=retained.r_auc,
        f1_auc=retained.f1_auc,
        f1_at_95=retained.f1_at_95,
        roc_auc=100 * told(lines, held, shifted),
    )


def told(lines: ScoredLines, held: ScoredLines, shifted: Mask, measure: str | None = None) -> float:
    """Return the ROC-AUC of shifted lines among held-out ones, 0 to 1; a row with both needs no other lines."""
    if not shifted.any():
        return float("nan")
    if not shifted.all():
        return detection.roc_auc(shifted, lines.ranks(measure))
    flags = np.arange(len(held) + len(lines)) >= len(held)
    return detection.roc_auc(flags, np.concatenate([held.ranks(measure), lines.ranks(measure)]))


def mean(scores: Scores, name: str) -> float:
    """Return the mean of a figure over the models of a kind."""
    return float(np.mean([getattr(item, name) for item in scores]))


def deviation(scores: Scores, name: str) -> float:
    """Return the standard deviation (ddof 0) over the models of a kind."""
    return float(np.std([getattr(item, name) for item in scores]))


def curves(every: Sequence[ScoredLines], mask: Mask | None = None) -> tuple[Float64, Float64]:
    """Return error- and F1-retention at ``CURVE`` retained shares from 0 to 1, means over models of a kind."""
    both = []
    for lines in every:
        kept = slice(None) if mask is None else mask
        errors, ranks = lines.errors[kept], lines.ranks()[kept]
        both.append(
            (
                _thin(retention.error_curve(errors, ranks)),
                _thin(retention.f_curve(errors, ranks, HYPOTHESES.acceptable or 0.0)),
            )
        )
    error, f1 = np.mean(both, axis=0)
    return error, f1


def bounds(lines: ScoredLines) -> tuple[Float64, Float64]:
    """Return error curves of a random order and of a measure that orders as the errors do."""
    return _thin(retention.random_curve(lines.errors)), _thin(retention.optimal_curve(lines.errors))


def _thin(curve: Float64) -> Float64:
    return np.interp(np.linspace(0, 1, CURVE), np.linspace(0, 1, len(curve)), curve)


Loads = Callable[[str], Kept]
"""Function from the name of a set to its lines as translated by one model."""
IN, AWAY, FULL, APART = "in", "shifted", "full", "tatoeba-apart"


@dataclass(frozen=True)
class Row:
    """Row of the tables."""

    name: str
    title: str
    sets: tuple[str, ...]
    apart: bool = False
    """True to leave out lines that are near to a training sentence."""

    def kept(self, loads: Loads, near: frozenset[str]) -> Kept:
        """Return the lines of the row.

        Args:
            near: sentences that are almost the same as a training sentence.
        """
        lines = joined([loads(name) for name in self.sets])
        if not self.apart:
            return lines
        return lines.take(np.array([pair.english not in near for pair in lines.pairs], bool))


def shifted(row: Row, loads: Loads) -> NDArray[np.bool_]:
    """Return whether each line of a row is of no domain that was trained on."""
    return np.concatenate([np.full(len(loads(name)), name not in HELD) for name in row.sets])


_ALL_SHIFTED = "all shifted"
ROWS = (
    Row(IN, "**held out**", HELD),
    *(Row(name, name.removeprefix("held-"), (name,)) for name in HELD),
    Row(AWAY, f"**{_ALL_SHIFTED}**", SHIFTED),
    *(Row(name, name, (name,)) for name in SHIFTED),
    Row(FULL, "**held out and shifted**", (*HELD, *SHIFTED)),
    Row("wmt22", "**WMT22**", WMT22),
    *(Row(name, name.replace("wmt22-", "WMT22 "), (name,)) for name in WMT22),
    Row(NTREX, "**NTREX-128** (news)", (NTREX,)),
    Row(TATOEBA, "**Tatoeba1000** (everyday)", (TATOEBA,)),
    Row(APART, "Tatoeba1000 without near-duplicates", (TATOEBA,), apart=True),
    Row("wmt24", "**WMT24**", WMT24),
    *(Row(name, name.replace("wmt24-", "WMT24 "), (name,)) for name in WMT24),
)
MAIN = (IN, AWAY, FULL)
PUBLIC = ("wmt22", NTREX, TATOEBA, "wmt24")
"""Names of rows with a whole public test set."""
BY_NAME = {row.name: row for row in ROWS}


_NO_REMARKS = np.empty(0, np.uint8)


@dataclass(frozen=True)
class Decided:
    """Decisions on the lines of a row: shares from 0 to 1, errors in GLEU points; NaN if there are no lines."""

    lines: int
    left_out: int
    """Number of lines without an English sentence, which are returned unchanged."""
    deferred: float
    error: float
    answered_error: float
    deferred_error: float
    acceptable: float
    """Share of lines whose error is acceptable."""
    answered_acceptable: float
    """Share of answered lines whose error is acceptable."""
    deferred_acceptable: float
    """Share of deferred lines whose error is acceptable."""
    unfamiliar: float
    """Share of lines whose knowledge uncertainty is above 99.9 % of in-domain sentences."""


def policy(calibration: Kept, retention: float = RETENTION) -> Policy:
    """Return the policy of a service with these members, from held-out sentences of the calibration half."""
    whole = calibration.take(calibration.whole)
    judged = calibrating.TranslatedPairs(
        tuple(pair.english for pair in whole.pairs), tuple(whole.references), whole.translations
    )
    return choose(
        HYPOTHESES,
        calibrating.calibration(judged),
        model=ENSEMBLE,
        profile=numeric_profile([executor(SERVED)]),
        ensemble=True,
        target_retention=retention,
    )


def decided(lines: ScoredLines, under: Policy) -> Decided:
    """Decide all lines of a row; a line is one unit, however many sentences it has."""
    verdict = decide(under, HYPOTHESES, lines.kept.predictive, _NO_REMARKS)
    answered = np.asarray(verdict.decisions == Decision.ANSWER)
    good = lines.errors <= (HYPOTHESES.acceptable or 0.0)
    return Decided(
        lines=len(lines),
        left_out=lines.kept.given - len(lines),
        deferred=1 - _mean(answered),
        error=_mean(lines.errors),
        answered_error=_mean(lines.errors[answered]),
        deferred_error=_mean(lines.errors[~answered]),
        acceptable=_mean(good),
        answered_acceptable=_mean(good[answered]),
        deferred_acceptable=_mean(good[~answered]),
        unfamiliar=_mean((verdict.shifts & Shift.KNOWLEDGE_ABOVE_REFERENCE) != 0),
    )


def answered_as_calibrated(held: Mapping[str, ScoredLines], calibration: Kept, under: Policy) -> float:
    """Return the share, 0 to 1, of answered held-out lines that resemble the calibration lines.

    Such lines are one sentence each, with the domains weighted by their share in the calibration lines.

    Args:
        held: lines by domain.
    """
    domains = [pair.domain for pair in calibration.take(calibration.whole).pairs]
    return sum(
        domains.count(name)
        / len(domains)
        * (1 - decided(ScoredLines(lines.kept.take(lines.kept.whole)), under).deferred)
        for name, lines in held.items()
    )


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if len(values) else float("nan")
