"""Files of predicted normal distributions: NPZ with ``members`` [M, N, 2] (mean, variance) and ``target`` [N]."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models import plausibility
from models.assessment import errors
from models.assessment import regression_calibration as calibration
from models.assessment.figures import Rules
from models.evaluation import files, scored
from models.evaluation.judged import Asked, ErrorColumn, Judged, Mask, Normals, ordered
from models.predictive import Gaussian
from models.uncertainty import gaussian, score

OPTIONS = frozenset({"bins"})
"""What of ``Asked`` is of use here besides error, limit, groups and convention."""

Float64 = NDArray[np.float64]

DIAGNOSTIC = "ll_fu"
UNCERTAINTY = "uncertainty"
"""The measure by which a served model decided, or that a submission holds."""
LARGEST = 1e150
"""Of means and targets: their squared differences are to be finite."""
ENSEMBLE_MEASURES = ("tvar", "mvar", "varm", "epkl", "entropy")
SINGLE_MEASURES = ("variance", "tvar", "mvar", "entropy")


@dataclass(frozen=True, slots=True)
class Quantity:
    """What is predicted, and how the papers judge it."""

    task: str
    unit: str
    acceptable: float | None
    """Largest acceptable squared error, in the unit squared."""
    rules: Rules
    lower: float | None = None
    """Smallest possible value, in the unit; None for none."""
    upper: float | None = None
    """Largest possible value, in the unit; None for none."""
    drops_large_variances: bool = False
    """Whether the official Cv leaves out variances above 10: the limit was chosen for temperatures in °C."""


def read(path: Path, asked: Asked) -> Judged:
    """Any regression, in the unit of the file; no limit unless one is asked for.

    Raises:
        BadFile: see ``read_as``.
    """
    return read_as(path, asked, Quantity("regression", "(unit of the target)", None, Rules(asked.convention)))


def read_as(path: Path, asked: Asked, quantity: Quantity, arrays: Mapping[str, Any] | None = None) -> Judged:
    """Members and targets of a quantity; optional ``shifted`` [N] and columns [N] to break figures down by.

    ``arrays`` are those of the file where they have been read already.

    Raises:
        BadFile: a key is missing, of another shape, not numeric, or not finite; a negative variance.
    """
    arrays = files.read_npz(path) if arrays is None else arrays
    sizes: dict[str, int] = {}
    members = files.numbers(path, arrays, "members", "M N 2", sizes)
    target = files.finite(path, "target", files.numbers(path, arrays, "target", "N", sizes))
    mean = files.finite(path, "members (mean)", members[..., 0])
    for name, values in (("target", target), ("members (mean)", mean)):
        files.within(path, name, values, LARGEST)
    variance = files.variances(path, "members (variance)", members[..., 1])
    shifted = files.shifted_flags(path, "shifted", arrays.get("shifted"), len(target))
    groups = files.group_columns(path, arrays, asked.by, len(target))
    whole = Judged(
        task=quantity.task,
        source=str(path),
        errors={},
        measures={},
        shifted=shifted,
        groups=groups,
        rules=quantity.rules,
        labels=hashlib.sha256(target.tobytes()).hexdigest(),
        members=len(mean),
    )
    judged = _judge(whole, mean, variance, target, asked, quantity)
    if len(mean) == 1:
        return judged
    return replace(judged, singles=lambda: _singles(whole, mean, variance, target, asked, quantity))


def _singles(
    whole: Judged, mean: Float64, variance: Float64, target: Float64, asked: Asked, quantity: Quantity
) -> Iterator[Judged]:
    for one in range(len(mean)):
        part = slice(one, one + 1)
        named = replace(whole, source=f"{whole.source}, member {one + 1}", members=1)
        yield _judge(named, mean[part], variance[part], target, asked, quantity)


def read_scored(path: Path, asked: Asked, quantity: Quantity, label: str, prefix: str = "") -> Judged:
    """A table that ``demur score`` wrote, with labels in a column of it; the first measure is the one that decided.

    Without the members' columns there are no figures that need them: ``epkl``, ``nll``, and members one by one.

    Raises:
        BadFile: a column is missing or not numeric, or not finite; a negative variance.
    """
    found = scored.read(path, asked, prefix=prefix, predictions=("mean",), of_member="mean|variance", label=label)
    mean, total = found.columns["mean"], found.columns["total"]
    for name, values in ((label, found.target), (f"{prefix}mean", mean)):
        files.within(path, name, files.finite(path, name, values), LARGEST)
    files.variances(path, f"{prefix}total", total)
    whole = Judged(
        task=quantity.task,
        source=str(path),
        errors={},
        measures={},
        shifted=found.shifted,
        groups=found.groups,
        rules=quantity.rules,
        labels=hashlib.sha256(found.target.tobytes()).hexdigest(),
        members=len(found.members) or (None if found.ensemble else 1),
        notes=found.notes,
    )
    if found.members:
        members = found.stacked("mean", "variance")
        means = files.finite(path, f"{prefix}member.mean", members[..., 0])
        variances = files.variances(path, f"{prefix}member.variance", members[..., 1])
        judged = _judge(whole, means, variances, found.target, asked, quantity)
        if len(means) > 1:
            judged = replace(judged, singles=lambda: _singles(whole, means, variances, found.target, asked, quantity))
    else:
        data = total if np.isnan(found.columns["data"]).all() else found.columns["data"]
        knowledge = found.columns["knowledge"] if found.ensemble else None
        statistics = Gaussian(mean, data, knowledge)
        names = [name for name in (ENSEMBLE_MEASURES if found.ensemble else SINGLE_MEASURES) if name != "epkl"]
        judged = _of_statistics(whole, statistics, names, found.target, asked, quantity)
    return replace(judged, measures={UNCERTAINTY: found.columns[UNCERTAINTY], **judged.measures})


def judge_points(
    whole: Judged, mean: Float64, target: Float64, uncertainty: Float64, asked: Asked, quantity: Quantity
) -> Judged:
    """Predictions without a distribution [n], as submissions have them: errors, and how well ``uncertainty`` ranks."""

    def own(mask: Mask | None) -> dict[str, float]:
        part = slice(None) if mask is None else mask
        return _distances(target[part], mean[part])

    return replace(
        whole,
        errors=ordered(asked, _errors(mean, target, quantity), whole.source),
        measures={UNCERTAINTY: uncertainty},
        own=own,
        own_units=_units(quantity.unit),
        labels=hashlib.sha256(target.tobytes()).hexdigest(),
    )


def _judge(
    whole: Judged, mean: Float64, variance: Float64, target: Float64, asked: Asked, quantity: Quantity
) -> Judged:
    """Errors, measures and figures of an ensemble, or of a single model if there is one member."""
    statistics = gaussian.predictive(mean, variance, asked.convention)
    names = SINGLE_MEASURES if len(mean) == 1 else ENSEMBLE_MEASURES
    likelihood = gaussian.ensemble_nll(target, mean, variance)
    return _of_statistics(whole, statistics, names, target, asked, quantity, likelihood)


def _of_statistics(
    whole: Judged,
    statistics: Gaussian,
    names: Sequence[str],
    target: Float64,
    asked: Asked,
    quantity: Quantity,
    likelihood: Float64 | None = None,
) -> Judged:
    """The same of statistics [n]; ``likelihood`` (negative, logarithmic [n]) needs the members."""
    convention = asked.convention
    measures: dict[str, Any] = {name: score(statistics, name) for name in names}
    # calibration is, as released, that of the mean of the members' variances, whatever the members' spread
    width = np.asarray(statistics.mvar, np.float64)
    mean = np.asarray(statistics.mean, np.float64)
    measures[DIAGNOSTIC] = calibration.ll_fu(target, mean, width, convention=convention)
    columns = _errors(mean, target, quantity)
    squared = columns["squared_error"].values
    reading = convention if quantity.drops_large_variances else replace(convention, filtered_cv=False)

    def own(mask: Mask | None) -> dict[str, float]:
        part = slice(None) if mask is None else mask
        rows = squared[part]
        bins = asked.bins
        if bins is not None and mask is not None:
            bins = min(bins, len(rows))
        found = calibration.ence(calibration.bins_by_variance(rows, width[part], bins=bins))
        spread = calibration.cv(width[part], convention=reading)
        of_all = calibration.bins_by_variance(rows, width[part], bins=1)
        figures = _distances(target[part], mean[part]) | {
            **({} if likelihood is None else {"nll": float(np.mean(likelihood[part]))}),
            "ence": found,
            "cv": spread,
            "lence": calibration.lence(found, spread, convention=convention),
            "mwse": calibration.mwse(rows, width[part]),
            "ll_fu": float(np.mean(measures[DIAGNOSTIC][part])),
            "r3": float(calibration.ratio(of_all.rmse, of_all.rmv)[0]),
        }
        if statistics.varm is not None:
            total = calibration.bins_by_variance(rows, statistics.tvar[part], bins=bins)
            figures["ence_tvar"] = calibration.ence(total)
        return figures

    return replace(
        whole,
        errors=ordered(asked, columns, whole.source),
        measures=measures,
        diagnostics=frozenset({DIAGNOSTIC}),
        impossible=plausibility.impossible(quantity, statistics),
        own=own,
        own_units=_units(quantity.unit),
        normals=Normals(mean, width, target, quantity.unit, asked.bins),
    )


def _errors(mean: Float64, target: Float64, quantity: Quantity) -> dict[str, ErrorColumn]:
    squared = errors.squared_error(target, mean)
    return {
        "squared_error": ErrorColumn(squared, _squared(quantity.unit), quantity.acceptable),
        "absolute_error": ErrorColumn(errors.absolute_error(target, mean), quantity.unit, None),
    }


def _distances(target: Float64, mean: Float64) -> dict[str, float]:
    return {
        "rmse": errors.rmse(target, mean),
        "mae": errors.mae(target, mean),
        "mape": errors.mape(target, mean) / 100,
    }


def _units(unit: str) -> dict[str, str]:
    ratios = dict.fromkeys(("mape", "ence", "ence_tvar", "cv", "lence", "r3"), "1")
    return {"rmse": unit, "mae": unit, **ratios, "nll": "nats", "mwse": f"{unit}⁴", "ll_fu": "nats"}


def _squared(unit: str) -> str:
    return f"{unit}²"
