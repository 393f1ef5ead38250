"""The page of tables: markdown of what was judged."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from benchmarks import machine, relations
from benchmarks.relations import Relation
from benchmarks.translation_tables import paper
from benchmarks.translation_tables.decisions import Decided
from benchmarks.translation_tables.judge import MEASURES, SINGLE, TOGETHER, Results, Score, deviation, mean
from benchmarks.translation_tables.plan import RETENTION
from benchmarks.translation_tables.rows import AWAY, BY_NAME, FULL, IN, ROWS
from models.assessment.figures import Figures
from services.policy.decision import Policy

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
    """A measure of the ensemble to defer by."""

    figures: Mapping[str, Figures]
    """Row to figures."""
    told: Mapping[str, float]
    """Row to ROC-AUC, 0 to 1."""
    agreement: float
    """Spearman's rank correlation of eight bits with float32."""


@dataclass(frozen=True)
class Found:
    """All that the page tells."""

    data: Sequence[str]
    models: Sequence[str]
    """Lines on what was judged, and by what."""
    results: Results
    stand_in: Results
    """The paper's Tables 4 and 5 with public sets in their places: newstest2019 (NTREX-128), Reddit (WMT22)."""
    plain: Mapping[str, float]
    """Row to expected GLEU of the ensemble as services count it."""
    decisions: Mapping[str, Decided]
    policy: Policy
    others: Mapping[float, Mapping[str, Decided]]
    """Share of in-domain sentences that a policy keeps to the same under it."""
    measures: Mapping[str, Measured]
    precision: Mapping[str, Score]
    """int8 and fp32 to figures on the same lines."""
    compared: int
    """Lines of them."""
    relations: Sequence[Relation]
    """Statements of the paper."""
    own: Sequence[Relation]
    """Statements of our own: measures, public sets, decisions."""


def document(found: Found) -> str:
    """The page down to the part that is written by hand."""
    few = f"{found.compared} lines, half held out, half shifted"
    lines = [
        "# Translation: the tables of the paper with small models on open data",
        "",
        "Written by `python -m benchmarks.translation_tables` down to the discussion. Models have a small part of the "
        "size and of the data of those in Shifts 1.0 (section 4, appendix D): numbers are compared in their relations, "
        "and absolute ones are weak outside of the domains that were trained on. What matters there is whether the "
        "ensemble says so by deferring. [Sentences to read](../translation-examples.md).",
        "",
        *(f"- {line}" for line in (*found.data, *found.models)),
        "- BLEU and chrF: sacrebleu with its defaults, first hypothesis, plain text. GLEU, R-AUC, F1: as in the "
        "released code; error is 100 - eGLEU, up to 60 is acceptable; areas are means of curve points. Uncertainty is "
        "SCR-PE of the ensemble and negative log-likelihood of single models, means over five hypotheses. ± is one "
        "standard deviation over the members.",
        "- A line that holds several sentences is cut, translated and joined again as the service does it; its scores "
        "are those of its sentences, weighted by tokens. Lines without an English sentence are left out (the service "
        "hands them back and defers them).",
        f"- {machine.line()}.",
        "",
        "## Table 4: predictive performance",
        "",
        table_4(found.results, found.plain, found.decisions),
        "",
        "## Table 5: uncertainty and robustness",
        "",
        "ROC-AUC: of telling the lines of the row from those held out; in the third row, shifted ones from held-out "
        "ones within it. 50 is chance; below, the row is *less* uncertain than what is held out.",
        "",
        table_5(found.results),
        "",
        f"![Retention curves, as Figure 2 of the paper]({RETENTION_PICTURE})",
        "",
        "## Beside the paper",
        "",
        "In-domain is news in the paper, shifted Reddit comments; its models are 52 times as large as ours (258 "
        "million weights a member with 40,000 tokens a side), and trained on WMT'20, many times our data. Ours are "
        "held-out and shifted domains of our own, and once the texts nearest to the paper's dev set: NTREX-128, whose "
        "sources are those of newstest2019 (another reference), and the Reddit part of WMT22. Our models have seen "
        "neither kind, so that the last rows are shifted twice.",
        "",
        beside(found.results, found.stand_in),
        "",
        "## Decisions",
        "",
        f"The policy of a service with default settings: SCR-PE up to {found.policy.threshold:.4f} nats is "
        f"answered, which keeps {RETENTION:.0%} of {found.policy.calibration_units} held-out in-domain sentences that "
        "are in no row here. Errors are 100 - eGLEU; acceptable: up to 60. Unfamiliar: knowledge uncertainty (MKL) "
        "above 99.9 % of in-domain sentences, which is told, but defers only where a policy says so.",
        "",
        table_of_decisions(found.decisions),
        "",
        "Under policies that keep other shares of in-domain sentences: share deferred; error of what is answered; "
        "share of that which is acceptable.",
        "",
        table_of_policies(dict(sorted({RETENTION: found.decisions, **found.others}.items(), reverse=True))),
        "",
        f"![Uncertainty and threshold, errors of answered and deferred lines]({DEFERRAL_PICTURE})",
        "",
        "## Measures compared",
        "",
        "The ensemble's 19 released scores and negative log-likelihood (per token the same number as SCR-PE), each as "
        "the measure that defers; by R-AUC. All oriented so that larger is less certain. The last column: Spearman's "
        f"rank correlation of int8 with float32 ({few}).",
        "",
        table_of_measures(found.measures),
        "",
        f"The ensemble in eight bits and in float32 ({few}):",
        "",
        table_of_precision(found.precision),
        "",
        "## Relations that the paper reports",
        "",
        "All statements of its section 4 on Tables 4 and 5; each holds on the numbers that it prints. Here BLEU, eGLEU "
        "and maxGLEU are checked on the main rows and on whole public sets, the effect of shift on held out against "
        "shifted, and retention and detection on held out and shifted together, as in Table 5.",
        "",
        relations.table(found.relations),
        "",
        "### Relations of our own, and what deferral promises",
        "",
        "Not in the paper.",
        "",
        relations.table(found.own),
    ]
    return "\n".join(lines) + "\n\n"


def table_4(results: Results, plain: Mapping[str, float], decisions: Mapping[str, Decided]) -> str:
    """Rows against BLEU, GLEU and chrF."""
    heads = (*(f"{title} {kind}" for title in _QUALITY.values() for kind in _KINDS), "chrF Ens", "eGLEU Ens, plain")
    lines = _heading(("data", "lines", *heads))
    for row in ROWS:
        cells = [_both(results, row.name, name, ".2f") for name in _QUALITY]
        last = f"{mean(results[row.name, TOGETHER], 'chrf'):.1f}", f"{plain[row.name]:.2f}"
        lines.append(_line((row.title, str(decisions[row.name].lines), *_flat(cells), *last)))
    return "\n".join(lines)


def table_5(results: Results) -> str:
    """Rows against areas."""
    lines = _heading(("data", *(f"{title} {kind}" for title, _ in _AREAS.values() for kind in _KINDS)))
    for row in ROWS:
        cells = [_both(results, row.name, name, form) for name, (_, form) in _AREAS.items()]
        lines.append(_line((row.title, *_flat(cells))))
    return "\n".join(lines)


def beside(results: Results, stand_in: Results) -> str:
    """Tables 4 and 5 of the paper above ours."""
    heads = [f"{title} {kind}" for title in (*_QUALITY.values(), *(title for title, _ in _AREAS.values()))
             for kind in _KINDS]  # fmt: skip
    lines = _heading(("from", "data", *heads))
    every = [(f"paper, {split}", paper.results(split)) for split in paper.SPLITS]
    every += [("ours", results), (f"ours on {_STAND_IN}", stand_in)]
    for source, one in every:
        for row in (IN, AWAY, FULL):
            forms = dict.fromkeys(_QUALITY, ".2f") | ({name: form for name, (_, form) in _AREAS.items()})
            cells = [
                _number(mean(one[row, kind], name), form if row == FULL or name in _QUALITY else "")
                for name, form in forms.items()
                for kind in _KINDS
            ]
            lines.append(_line((source, BY_NAME[row].title.replace("*", "") if one is results else row, *cells)))
    return "\n".join(lines)


def table_of_decisions(decisions: Mapping[str, Decided]) -> str:
    """Rows against what becomes of them."""
    heads = ("lines", "left out", "deferred", "error of all", "answered", "deferred", "acceptable of all", "answered")
    lines = _heading(("data", *heads, "deferred", "unfamiliar"))
    for name, one in decisions.items():
        errors = (one.error, one.answered_error, one.deferred_error)
        good = (one.acceptable, one.answered_acceptable, one.deferred_acceptable)
        cells = (
            *(str(one.lines), str(one.left_out), f"{one.deferred:.1%}"),
            *(_number(value, ".1f") for value in errors),
            *(_number(value, ".1%") for value in good),
            f"{one.unfamiliar:.1%}",
        )
        lines.append(_line((BY_NAME[name].title, *cells)))
    return "\n".join(lines)


def table_of_policies(under: Mapping[float, Mapping[str, Decided]]) -> str:
    """Rows against policies."""
    lines = _heading(("data", *(f"{share:.0%} kept" for share in under)))
    for row in min(under.values(), key=len):
        every = [one[row] for one in under.values()]
        cells = [
            f"{one.deferred:.1%}; {_number(one.answered_error, '.1f')}; {_number(one.answered_acceptable, '.1%')}"
            for one in every
        ]
        lines.append(_line((BY_NAME[row].title, *cells)))
    return "\n".join(lines)


def table_of_measures(measures: Mapping[str, Measured]) -> str:
    """Measures against areas, the best first."""
    rows = list(next(iter(measures.values())).figures)
    heads = [*(f"R-AUC {_short(row)}" for row in rows), "F1-AUC", "F1@95"]
    lines = _heading(("measure", *heads, *(f"ROC-AUC {_short(row)}" for row in _told(measures)), "int8 / float32"))
    for name in sorted(MEASURES, key=lambda one: measures[one].figures[FULL].r_auc):
        one = measures[name]
        full = one.figures[FULL]
        cells = (
            *(f"{one.figures[row].r_auc:.2f}" for row in rows),
            *(_number(value, ".3f") for value in (full.f1_auc, full.f1_at_95)),
            *(f"{100 * one.told[row]:.1f}" for row in one.told),
            f"{one.agreement:.4f}",
        )
        lines.append(_line((f"`{name}`", *cells)))
    return "\n".join(lines)


def table_of_precision(found: Mapping[str, Score]) -> str:
    """Both precisions on the same lines."""
    lines = _heading(("precision", "BLEU", "chrF", "eGLEU", "maxGLEU", "R-AUC"))
    for name, one in found.items():
        values = (one.bleu, one.chrf, one.egleu, one.maxgleu, one.r_auc)
        lines.append(_line((name, *(f"{value:.2f}" for value in values))))
    return "\n".join(lines)


_KINDS = (SINGLE, TOGETHER)


def _both(results: Results, row: str, name: str, form: str) -> list[str]:
    """Single models and the ensemble."""
    alone, together = results[row, SINGLE], results[row, TOGETHER]
    value = _number(mean(alone, name), form)
    if value != _NONE and len(alone) > 1:
        value += f" ± {deviation(alone, name):{form}}"
    return [value, _number(mean(together, name), form)]


def _number(value: float, form: str) -> str:
    return _NONE if math.isnan(value) or not form else f"{value:{form}}"


_NONE = "–"


def _short(row: str) -> str:
    return {IN: "held out", AWAY: "shifted", FULL: "both"}.get(row, BY_NAME[row].title.replace("*", ""))


def _told(measures: Mapping[str, Measured]) -> list[str]:
    return list(next(iter(measures.values())).told)


def _flat(cells: Iterable[Sequence[str]]) -> list[str]:
    return [cell for both in cells for cell in both]


def _heading(cells: Sequence[str]) -> list[str]:
    return [_line(cells), "|---" * len(cells) + "|"]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
