"""The block of uncertainties: in-domain against shifted, or good answers against bad ones."""

from __future__ import annotations

from collections.abc import Sequence

from services.report import charts, naming, words
from services.report.block import Block, File, Note, Panel, spoken
from services.report.drawing import NARROW, WIDE, Frame
from services.report.histograms import Histogram
from services.report.numerals import count, numeral
from services.report.palette import Key

_SHOWN = {"confidence": "negated confidence"}
"""Measures whose name alone would read the wrong way round."""


def uncertainty(files: Sequence[File], histograms: Sequence[Histogram | None]) -> Block | None:
    """A histogram of the uncertainty for each file."""
    panels = []
    for file, found in zip(files, histograms, strict=True):
        if found is None:
            continue
        keys = dict(zip(found.counts, _class_keys(found), strict=True))
        bars = [
            charts.Bars(keys[name], f"{name} ({count(found.counts[name])})", found.edges, shares)
            for name, shares in found.shares.items()
        ]
        judged, figures = file.evaluation.judged, file.evaluation.full.headline
        said = [", ".join(f"{name.lower()} {words.count_units(number)}" for name, number in found.counts.items())]
        said[0] = said[0][:1].upper() + said[0][1:]
        if judged.shifted is not None and len(found.counts) == 2:
            said.append(f"ROC-AUC of telling shifted units by it: {numeral(figures.roc_auc, '1')}")
        if found.above or found.below:
            said.append(f"{count(found.above + found.below)} units beyond the axis stand in the outermost bins")
        if found.left_out:
            said.append(f"{count(found.left_out)} units without a finite value are left out")
        caption = tuple(Note(f"{one}.") for one in said)
        names = list(found.counts)
        title = file.name if len(files) > 1 else " against ".join([names[0], *(name.lower() for name in names[1:])])
        frame = Frame(
            f"uncertainty-{file.place + 1}",
            title,
            f"{_SHOWN.get(judged.measure_name) or naming.clean(judged.measure_name)}, larger is less certain"
            + (" (log)" if found.logarithmic else ""),
            "share of the class’s units per bin",
            f"Histogram of the uncertainty, {file.name}. {spoken(caption)}",
            logarithmic=(found.logarithmic, False),
            width=WIDE if len(files) < 3 else NARROW,
        )
        panels.append(Panel(charts.histogram(frame, bars), caption))
    if not panels:
        return None
    known = [found for found in histograms if found is not None]
    entries: dict[str, Key] = {
        name: key for one in known for name, key in zip(one.counts, _class_keys(one), strict=True)
    }
    shifted = any(file.evaluation.judged.shifted is not None for file in files)
    lead = (
        "The further apart the two, the better does the uncertainty "
        + ("notice that data have shifted." if shifted else "notice answers that are not acceptable.")
        if len(entries) > 1
        else "How the uncertainty is spread over the units."
    )
    legend = tuple(entries.items()) if len(entries) > 1 else ()
    return Block("uncertainty", "How uncertain, where", lead, tuple(panels), legend)


def _class_keys(found: Histogram) -> list[Key]:
    return ["plain" if name in ("In-domain", "Acceptable error", "All units") else "marked" for name in found.counts]
