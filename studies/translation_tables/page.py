"""Page of tables in Markdown."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from benchmarks import machine
from models.assessment.figures import Figures
from services.policy.decision import Policy
from studies import pages, statements
from studies.statements import Statement
from studies.translation_tables.judge import (
    AWAY,
    BY_NAME,
    FULL,
    IN,
    MEASURES,
    NAMES,
    ROWS,
    SINGLE,
    TOGETHER,
    Decided,
    Results,
    Score,
    deviation,
    mean,
)
from studies.translation_tables.plan import RETENTION

_TABLE_4 = {
    ("dev", IN): ((32.04, 34.45, 41.08), (32.73, 35.09, 42.00)),
    ("dev", AWAY): ((20.65, 22.66, 28.28), (21.06, 23.00, 28.63)),
    ("dev", FULL): ((28.89, 29.67, 35.89), (29.52, 30.19, 36.58)),
    ("eval", IN): ((29.52, 30.39, 36.19), (30.08, 30.88, 36.82)),
    ("eval", AWAY): ((21.00, 23.19, 29.35), (21.54, 23.60, 29.88)),
    ("eval", FULL): ((26.39, 26.76, 32.74), (26.92, 27.20, 33.31)),
}
"""BLEU, eGLEU and maxGLEU of single models (means), and of the ensemble."""
_TABLE_5 = {
    "dev": ((33.22, 0.43, 0.42, 68.90), (32.87, 0.44, 0.43, 69.30)),
    "eval": ((34.80, 0.37, 0.34, 79.18), (34.57, 0.38, 0.36, 80.10)),
}
"""R-AUC, F1-AUC, F1@95 and ROC-AUC (%) of both parts together."""
SPLITS = ("dev", "eval")


def printed(split: str) -> Results:
    """Return the paper's tables in the form of ours; NaN if the paper has no number."""
    nan = dict.fromkeys(NAMES, float("nan"))
    results = {}
    for (own, row), both in _TABLE_4.items():
        for place, kind in enumerate((SINGLE, TOGETHER)):
            if own == split:
                areas = _TABLE_5[split][place] if row == FULL else ()
                known = dict(zip(("bleu", "egleu", "maxgleu"), both[place], strict=True))
                known |= dict(zip(("r_auc", "f1_auc", "f1_at_95", "roc_auc"), areas, strict=bool(areas)))
                results[row, kind] = (Score(**nan | known),)
    return results


RETENTION_PICTURE, DEFERRAL_PICTURE = "translation-retention.png", "translation-deferral.png"
_QUALITY = {"bleu": "BLEU", "egleu": "eGLEU", "maxgleu": "maxGLEU"}
_AREAS = {
    "r_auc": ("R-AUC", ".2f"),
    "f1_auc": ("F1-AUC", ".3f"),
    "f1_at_95": ("F1@95", ".3f"),
    "roc_auc": ("ROC-AUC (%)", ".1f"),
}
_STAND_IN = "newstest2019 and Reddit"


@dataclass(frozen=True)
class Measured:
    """Measure of the ensemble by which to defer."""

    figures: Mapping[str, Figures]
    """Figures by row."""
    told: Mapping[str, float]
    """ROC-AUC by row, 0 to 1."""
    agreement: float
    """Spearman's rank correlation of eight bits with float32."""


@dataclass(frozen=True)
class PageData:
    """Data of the page."""

    data: Sequence[str]
    models: Sequence[str]
    """Lines on the evaluated data and models."""
    results: Results
    stand_in: Results
    """The paper's Tables 4 and 5 on similar public sets: newstest2019 (NTREX-128), Reddit (WMT22)."""
    plain: Mapping[str, float]
    """Expected GLEU of the ensemble by row, as services count it."""
    decisions: Mapping[str, Decided]
    policy: Policy
    others: Mapping[float, Mapping[str, Decided]]
    """Decisions by row under a policy, by the share of in-domain sentences that it keeps."""
    measures: Mapping[str, Measured]
    precision: Mapping[str, Score]
    """Figures of int8 and fp32 on the same lines."""
    compared: int
    """Number of these lines."""
    relations: Sequence[Statement]
    """Statements of the paper."""
    own: Sequence[Statement]
    """Further statements of this project: measures, public sets, decisions."""


def document(data: PageData) -> str:
    """Return the page above the hand-written part."""
    few = f"{data.compared} lines, half held out, half shifted"
    return pages.document(
        "# Translation: the tables of the paper with small models on open data",
        f"{pages.written_by('translation_tables')} Models have a small part of the "
        "size and of the data of those in Shifts 1.0 (section 4, appendix D): numbers are compared in their relations, "
        "and absolute ones are weak outside of the domains that were trained on. What matters there is whether the "
        "ensemble says so by deferring. [Sentences to read](../translation-examples.md).",
        pages.bullets(
            *data.data,
            *data.models,
            "BLEU and chrF: sacrebleu with its defaults, first hypothesis, plain text. GLEU, R-AUC, F1: as in the "
            "released code; error is 100 - eGLEU, up to 60 is acceptable; areas are means of curve points. Uncertainty "
            "is SCR-PE of the ensemble and negative log-likelihood of single models, means over five hypotheses. ± is "
            "one standard deviation over the members.",
            "A line that holds several sentences is cut, translated and joined again as the service does it; its "
            "scores are those of its sentences, weighted by tokens. Lines without an English sentence are left out "
            "(the service hands them back and defers them).",
            f"{machine.line()}.",
        ),
        "## Table 4: predictive performance",
        table_4(data.results, data.plain, data.decisions),
        "## Table 5: uncertainty and robustness",
        "ROC-AUC: of telling the lines of the row from those held out; in the third row, shifted ones from held-out "
        "ones within it. 50 is chance; below, the row is *less* uncertain than what is held out.",
        table_5(data.results),
        pages.picture("Retention curves, as Figure 2 of the paper", RETENTION_PICTURE),
        "## Beside the paper",
        "In-domain is news in the paper, shifted Reddit comments; its models are 52 times as large as ours (258 "
        "million weights a member with 40,000 tokens a side), and trained on WMT'20, many times our data. Ours are "
        "held-out and shifted domains of our own, and once the texts nearest to the paper's dev set: NTREX-128, whose "
        "sources are those of newstest2019 (another reference), and the Reddit part of WMT22. Our models have seen "
        "neither kind, so that the last rows are shifted twice.",
        beside(data.results, data.stand_in),
        "## Decisions",
        f"The policy of a service with default settings: SCR-PE up to {data.policy.threshold:.4f} nats is "
        f"answered, which keeps {RETENTION:.0%} of {data.policy.calibration_units} held-out in-domain sentences that "
        "are in no row here. Errors are 100 - eGLEU; acceptable: up to 60. Unfamiliar: knowledge uncertainty (MKL) "
        "above 99.9 % of in-domain sentences, which is told, but defers only where a policy says so.",
        table_of_decisions(data.decisions),
        "Under policies that keep other shares of in-domain sentences: share deferred; error of what is answered; "
        "share of that which is acceptable.",
        table_of_policies(dict(sorted({RETENTION: data.decisions, **data.others}.items(), reverse=True))),
        pages.picture("Uncertainty and threshold, errors of answered and deferred lines", DEFERRAL_PICTURE),
        "## Measures compared",
        "The ensemble's 19 released scores and negative log-likelihood (per token the same number as SCR-PE), each as "
        "the measure that defers; by R-AUC. All oriented so that larger is less certain. The last column: Spearman's "
        f"rank correlation of int8 with float32 ({few}).",
        table_of_measures(data.measures),
        f"The ensemble in eight bits and in float32 ({few}):",
        table_of_precision(data.precision),
        "## Relations that the paper reports",
        "All statements of its section 4 on Tables 4 and 5; each holds on the numbers that it prints. Here BLEU, eGLEU "
        "and maxGLEU are checked on the main rows and on whole public sets, the effect of shift on held out against "
        "shifted, and retention and detection on held out and shifted together, as in Table 5.",
        statements.table(data.relations),
        "### Relations of our own, and what deferral promises",
        "Not in the paper.",
        statements.table(data.own),
    )


def table_4(results: Results, plain: Mapping[str, float], decisions: Mapping[str, Decided]) -> str:
    """Return Table 4: rows against BLEU, GLEU and chrF."""
    return pages.table(
        ("data", "lines", *_by_kind(_QUALITY.values()), "chrF Ens", "eGLEU Ens, plain"),
        (
            (
                row.title,
                decisions[row.name].lines,
                *_both(results, row.name, dict.fromkeys(_QUALITY, ".2f")),
                f"{mean(results[row.name, TOGETHER], 'chrf'):.1f}",
                f"{plain[row.name]:.2f}",
            )
            for row in ROWS
        ),
    )


def table_5(results: Results) -> str:
    """Return Table 5: rows against areas."""
    forms = {name: form for name, (_, form) in _AREAS.items()}
    return pages.table(
        ("data", *_by_kind(title for title, _ in _AREAS.values())),
        ((row.title, *_both(results, row.name, forms)) for row in ROWS),
    )


def beside(results: Results, stand_in: Results) -> str:
    """Return Tables 4 and 5 of the paper above ours."""
    every = [(f"paper, {split}", printed(split)) for split in SPLITS]
    every += [("ours", results), (f"ours on {_STAND_IN}", stand_in)]
    forms = dict.fromkeys(_QUALITY, ".2f") | {name: form for name, (_, form) in _AREAS.items()}
    rows = []
    for source, scores in every:
        for row in (IN, AWAY, FULL):
            cells = [
                pages.number(mean(scores[row, kind], name), form) if row == FULL or name in _QUALITY else pages.NONE
                for name, form in forms.items()
                for kind in _KINDS
            ]
            rows.append((source, _plain_title(row) if scores is results else row, *cells))
    titles = (*_QUALITY.values(), *(title for title, _ in _AREAS.values()))
    return pages.table(("from", "data", *_by_kind(titles)), rows)


def table_of_decisions(decisions: Mapping[str, Decided]) -> str:
    """Return a table of rows against decisions and errors."""
    heads = ("lines", "left out", "deferred", "error of all", "answered", "deferred", "acceptable of all", "answered")
    rows = []
    for name, decision in decisions.items():
        errors = (decision.error, decision.answered_error, decision.deferred_error)
        good = (decision.acceptable, decision.answered_acceptable, decision.deferred_acceptable)
        cells = [pages.number(value, ".1f") for value in errors] + [pages.number(value, ".1%") for value in good]
        first = (BY_NAME[name].title, decision.lines, decision.left_out, f"{decision.deferred:.1%}")
        rows.append((*first, *cells, f"{decision.unfamiliar:.1%}"))
    return pages.table(("data", *heads, "deferred", "unfamiliar"), rows)


def table_of_policies(under: Mapping[float, Mapping[str, Decided]]) -> str:
    """Return a table of rows against policies."""

    def cell(decision: Decided) -> str:
        error, good = pages.number(decision.answered_error, ".1f"), pages.number(decision.answered_acceptable, ".1%")
        return f"{decision.deferred:.1%}; {error}; {good}"

    return pages.table(
        ("data", *(f"{share:.0%} kept" for share in under)),
        (
            (BY_NAME[row].title, *(cell(decided[row]) for decided in under.values()))
            for row in min(under.values(), key=len)
        ),
    )


def table_of_measures(measures: Mapping[str, Measured]) -> str:
    """Return a table of measures against areas, the best first."""
    first = next(iter(measures.values()))
    rows = []
    for name in sorted(MEASURES, key=lambda measure: measures[measure].figures[FULL].r_auc):
        measured = measures[name]
        full = measured.figures[FULL]
        cells = (
            *(f"{measured.figures[row].r_auc:.2f}" for row in first.figures),
            *(pages.number(value, ".3f") for value in (full.f1_auc, full.f1_at_95)),
            *(f"{100 * value:.1f}" for value in measured.told.values()),
        )
        rows.append((f"`{name}`", *cells, f"{measured.agreement:.4f}"))
    areas = [f"R-AUC {_short(row)}" for row in first.figures]
    detections = [f"ROC-AUC {_short(row)}" for row in first.told]
    return pages.table(("measure", *areas, "F1-AUC", "F1@95", *detections, "int8 / float32"), rows)


def table_of_precision(scores: Mapping[str, Score]) -> str:
    """Return a table of both precisions on the same lines."""
    names = ("bleu", "chrf", "egleu", "maxgleu", "r_auc")
    return pages.table(
        ("precision", "BLEU", "chrF", "eGLEU", "maxGLEU", "R-AUC"),
        ((precision, *(f"{getattr(score, name):.2f}" for name in names)) for precision, score in scores.items()),
    )


_KINDS = (SINGLE, TOGETHER)


def _by_kind(titles: Iterable[str]) -> list[str]:
    return [f"{title} {kind}" for title in titles for kind in _KINDS]


def _both(results: Results, row: str, forms: Mapping[str, str]) -> list[str]:
    """Return cells of single models and of the ensemble for each figure."""
    cells = []
    for name, form in forms.items():
        alone, together = results[row, SINGLE], results[row, TOGETHER]
        single = pages.number(mean(alone, name), form)
        if single != pages.NONE and len(alone) > 1:
            single += f" ± {deviation(alone, name):{form}}"
        cells += [single, pages.number(mean(together, name), form)]
    return cells


def _short(row: str) -> str:
    return {IN: "held out", AWAY: "shifted", FULL: "both"}.get(row, _plain_title(row))


def _plain_title(row: str) -> str:
    return BY_NAME[row].title.replace("*", "")
