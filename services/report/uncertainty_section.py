"""Section of uncertainties: histograms of in-domain against shifted units, or of good against bad answers."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.assessment.retention import acceptable_units
from models.evaluation.unit_errors import Mask, UnitErrors
from services.report import captions, charts, naming
from services.report.block import Block, File, Note, Panel, spoken
from services.report.drawing import LARGEST, NARROW, WIDE, Frame, apart
from services.report.number_format import count, numeral
from services.report.palette import Key

_BINS = 48
_LOG_SPAN = 50.0  # ratio in the middle 98 % from which a linear axis would crowd most units
_LOG_TAIL = 0.999
_TAIL = 0.995  # end of a linear axis; the last bin holds all above
_SHOWN = {"confidence": "negated confidence"}
"""Measures whose name alone would be misleading, with the name shown."""


@dataclass(frozen=True, slots=True)
class Histogram:
    """Shares of units by uncertainty; those of each class sum to 1."""

    edges: NDArray[np.float64]
    """Edges of the bins [b + 1]."""
    shares: dict[str, NDArray[np.float64]]
    """Name of the class to its share in each bin [b]."""
    counts: dict[str, int]
    """Number of units of each class."""
    logarithmic: bool
    above: int
    """Number of units above the axis, counted in the last bin."""
    below: int
    """Number of units below a logarithmic axis, counted in the first bin."""
    left_out: int
    """Number of units whose uncertainty is NaN or infinite."""


def uncertainty(files: Sequence[File]) -> Block | None:
    """Return a histogram of the uncertainty for each file; None if no file has finite values."""
    panels = []
    histograms = [uncertainty_histogram(file.evaluation.judged) for file in files]
    for file, histogram in zip(files, histograms, strict=True):
        if histogram is None:
            continue
        keys = dict(zip(histogram.counts, _class_keys(histogram), strict=True))
        bars = [
            charts.Bars(keys[name], f"{name} ({count(histogram.counts[name])})", histogram.edges, shares)
            for name, shares in histogram.shares.items()
        ]
        judged, figures = file.evaluation.judged, file.evaluation.full.headline
        lines = [
            ", ".join(f"{name.lower()} {captions.count_units(number)}" for name, number in histogram.counts.items())
        ]
        lines[0] = lines[0][:1].upper() + lines[0][1:]
        if judged.shifted is not None and len(histogram.counts) == 2:
            lines.append(f"ROC-AUC of telling shifted units by it: {numeral(figures.roc_auc, '1')}")
        if histogram.above or histogram.below:
            lines.append(
                f"{count(histogram.above + histogram.below)} units beyond the axis stand in the outermost bins"
            )
        if histogram.left_out:
            lines.append(f"{count(histogram.left_out)} units without a finite value are left out")
        caption = tuple(Note(f"{line}.") for line in lines)
        names = list(histogram.counts)
        title = file.name if len(files) > 1 else " against ".join([names[0], *(name.lower() for name in names[1:])])
        frame = Frame(
            f"uncertainty-{file.place + 1}",
            title,
            f"{_SHOWN.get(judged.measure_name) or naming.clean(judged.measure_name)}, larger is less certain"
            + (" (log)" if histogram.logarithmic else ""),
            "share of the class’s units per bin",
            f"Histogram of the uncertainty, {file.name}. {spoken(caption)}",
            logarithmic=(histogram.logarithmic, False),
            width=WIDE if len(files) < 3 else NARROW,
        )
        panels.append(Panel(charts.histogram(frame, bars), caption))
    if not panels:
        return None
    drawn = [histogram for histogram in histograms if histogram is not None]
    entries: dict[str, Key] = {
        name: key for histogram in drawn for name, key in zip(histogram.counts, _class_keys(histogram), strict=True)
    }
    shifted = any(file.evaluation.judged.shifted is not None for file in files)
    lead = (
        "The further apart the two, the better the uncertainty "
        + ("detects shifted data." if shifted else "detects unacceptable answers.")
        if len(entries) > 1
        else "Distribution of the uncertainty over the units."
    )
    legend = tuple(entries.items()) if len(entries) > 1 else ()
    return Block("uncertainty", "Uncertainty by outcome", lead, tuple(panels), legend)


def uncertainty_histogram(judged: UnitErrors) -> Histogram | None:
    """Return in-domain against shifted units, else acceptable against unacceptable errors, else all units.

    None without finite values.
    """
    values = judged.uncertainty
    finite = np.isfinite(values)
    if not finite.any():
        return None
    classes = {name: mask & finite for name, mask in _classes(judged).items()}
    known = np.clip(np.asarray(values[finite], np.float64), -LARGEST, LARGEST)
    low, first, last, tail, high = np.quantile(known, [0, 0.01, 0.99, _TAIL, 1])
    logarithmic = bool(first >= 1 / LARGEST and last >= _LOG_SPAN * first)
    if logarithmic:
        low, high = np.maximum(np.quantile(known, [1 - _LOG_TAIL, _LOG_TAIL]), 1 / LARGEST)
    elif high > low + 2 * (tail - low):
        high = tail
    low, high = apart(float(low), float(high))
    edges = np.geomspace(low, high, _BINS + 1) if logarithmic else np.linspace(low, high, _BINS + 1)
    edges[0], edges[-1] = low, high
    above, below = int((known > high).sum()), int((known < low).sum())
    del known
    shares, counts = {}, {}
    for name, mask in classes.items():
        part = np.clip(np.asarray(values[mask], np.float64), low, high)
        if len(part):
            shares[name] = np.histogram(part, edges)[0] / len(part)
            counts[name] = len(part)
    return Histogram(edges, shares, counts, logarithmic, above, below, int((~finite).sum()))


def _classes(judged: UnitErrors) -> dict[str, Mask]:
    if judged.shifted is not None:
        return {"In-domain": ~judged.shifted, "Shifted": judged.shifted}
    error = judged.error
    if error.acceptable is None:
        return {"All units": np.ones(len(judged), bool)}
    good = acceptable_units(error.values, error.acceptable, judged.rules.convention)
    return {"Acceptable error": good, "Unacceptable error": ~good}


def _class_keys(histogram: Histogram) -> list[Key]:
    return [
        "plain" if name in ("In-domain", "Acceptable error", "All units") else "marked" for name in histogram.counts
    ]
