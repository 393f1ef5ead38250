"""Reader of files of normal distributions: NPZ with ``members`` [M, N, 2] (mean, variance) and ``target`` [N]."""

import hashlib
from collections.abc import Mapping, Sequence
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
from models.evaluation.labels import Labels
from models.evaluation.unit_errors import (
    ErrorColumn,
    ErrorOptions,
    Mask,
    Normals,
    UnitErrors,
    ordered,
    with_singles,
    without_errors,
)
from models.predictive import Gaussian
from models.uncertainty import gaussian, score

OPTIONS = frozenset({"bins"})
"""ErrorOptions that this reader uses besides error, limit, groups and convention."""

Float64 = NDArray[np.float64]

DIAGNOSTIC = "ll_fu"
UNCERTAINTY = "uncertainty"
"""Measure of a served model's policy, or of a submission."""
LARGEST = 1e150
"""Largest absolute value of means and targets, for which squared differences are finite."""
ENSEMBLE_MEASURES = ("tvar", "mvar", "varm", "epkl", "entropy")
SINGLE_MEASURES = ("variance", "tvar", "mvar", "entropy")


@dataclass(frozen=True, slots=True)
class Quantity:
    """Predicted quantity, with the limits and rules of the papers."""

    task: str
    unit: str
    acceptable: float | None
    """Largest acceptable squared error, in the unit squared."""
    rules: Rules
    lower: float | None = None
    """Smallest possible value, in the unit; None for no limit."""
    upper: float | None = None
    """Largest possible value, in the unit; None for no limit."""
    drops_large_variances: bool = False
    """True if the official Cv leaves out variances above 10; that limit was chosen for temperatures in °C."""


def read(path: Path, options: ErrorOptions) -> UnitErrors:
    """Read any regression, in the unit of the file, with no limit unless the options have one.

    Raises:
        BadFile: see ``read_as``.
    """
    return read_as(path, options, Quantity("regression", "(unit of the target)", None, Rules(options.convention)))


def read_as(
    path: Path, options: ErrorOptions, quantity: Quantity, arrays: Mapping[str, Any] | None = None
) -> UnitErrors:
    """Read members and targets of a quantity; and, if present, ``shifted`` [N] and columns [N] to break figures down
    by.

    ``arrays`` are those of the file if they have been read already.

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
    groups = files.group_columns(path, arrays, options.by, len(target))
    whole = without_errors(
        path, quantity.task, target, quantity.rules, shifted=shifted, groups=groups, members=len(mean)
    )
    return with_singles(
        whole,
        len(mean),
        lambda units, part: _judge(units, mean[part], variance[part], target, options, quantity),
    )


def read_scored(path: Path, options: ErrorOptions, quantity: Quantity, label: str, prefix: str = "") -> UnitErrors:
    """Read a table that ``demur score`` wrote, with a column of labels; its first measure is that of the policy.

    Without the members' columns there are no figures that need them: ``epkl``, ``nll``, and those of single members.

    Raises:
        BadFile: a column is missing or not numeric, or not finite; a negative variance.
    """
    table = scored.read(path, options, prefix=prefix, predictions=("mean",), of_member="mean|variance", label=label)
    mean, total = table.columns["mean"], table.columns["total"]
    for name, values in ((label, table.target), (f"{prefix}mean", mean)):
        files.within(path, name, files.finite(path, name, values), LARGEST)
    files.variances(path, f"{prefix}total", total)
    whole = table.units(path, quantity.task, table.target, quantity.rules)
    if table.members:
        members = table.stacked("mean", "variance")
        means = files.finite(path, f"{prefix}member.mean", members[..., 0])
        variances = files.variances(path, f"{prefix}member.variance", members[..., 1])
        judged = with_singles(
            whole,
            len(means),
            lambda units, part: _judge(units, means[part], variances[part], table.target, options, quantity),
        )
    else:
        data = total if np.isnan(table.columns["data"]).all() else table.columns["data"]
        knowledge = table.columns["knowledge"] if table.ensemble else None
        statistics = Gaussian(mean, data, knowledge)
        names = [name for name in (ENSEMBLE_MEASURES if table.ensemble else SINGLE_MEASURES) if name != "epkl"]
        judged = _of_statistics(whole, statistics, names, table.target, options, quantity)
    return replace(judged, measures={UNCERTAINTY: table.columns[UNCERTAINTY], **judged.measures})


def judge_points(
    path: Path, mean: Float64, truth: Labels, uncertainty: Float64, options: ErrorOptions, quantity: Quantity
) -> UnitErrors:
    """Return the errors of point predictions [n] in a file, such as a submission, ranked by ``uncertainty``."""
    target = truth.values

    def own(mask: Mask | None) -> dict[str, float]:
        part = slice(None) if mask is None else mask
        return _distances(target[part], mean[part])

    return UnitErrors(
        quantity.task,
        str(path),
        errors=ordered(options, _errors(mean, target, quantity), str(path)),
        measures={UNCERTAINTY: uncertainty},
        shifted=truth.shifted,
        groups=truth.groups,
        rules=quantity.rules,
        own=own,
        own_units=_units(quantity.unit),
        labels=hashlib.sha256(target.tobytes()).hexdigest(),
    )


def _judge(
    whole: UnitErrors, mean: Float64, variance: Float64, target: Float64, options: ErrorOptions, quantity: Quantity
) -> UnitErrors:
    """Return errors, measures and figures of an ensemble, or of a single model if there is one member."""
    statistics = gaussian.predictive(mean, variance, options.convention)
    names = SINGLE_MEASURES if len(mean) == 1 else ENSEMBLE_MEASURES
    likelihood = gaussian.ensemble_nll(target, mean, variance)
    return _of_statistics(whole, statistics, names, target, options, quantity, likelihood)


def _of_statistics(
    whole: UnitErrors,
    statistics: Gaussian,
    names: Sequence[str],
    target: Float64,
    options: ErrorOptions,
    quantity: Quantity,
    likelihood: Float64 | None = None,
) -> UnitErrors:
    """Return errors, measures and figures from statistics [n]; ``likelihood`` (negative log) needs members."""
    convention = options.convention
    measures: dict[str, Any] = {name: score(statistics, name) for name in names}
    # as released, calibration uses the mean of the members' variances and ignores the members' spread
    width = np.asarray(statistics.mvar, np.float64)
    mean = np.asarray(statistics.mean, np.float64)
    measures[DIAGNOSTIC] = calibration.ll_fu(target, mean, width, convention=convention)
    columns = _errors(mean, target, quantity)
    squared = columns["squared_error"].values
    reading = convention if quantity.drops_large_variances else replace(convention, filtered_cv=False)

    def own(mask: Mask | None) -> dict[str, float]:
        part = slice(None) if mask is None else mask
        rows = squared[part]
        bins = options.bins
        if bins is not None and mask is not None:
            bins = min(bins, len(rows))
        ence = calibration.ence(calibration.bins_by_variance(rows, width[part], bins=bins))
        spread = calibration.cv(width[part], convention=reading)
        of_all = calibration.bins_by_variance(rows, width[part], bins=1)
        figures = _distances(target[part], mean[part]) | {
            **({} if likelihood is None else {"nll": float(np.mean(likelihood[part]))}),
            "ence": ence,
            "cv": spread,
            "lence": calibration.lence(ence, spread, convention=convention),
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
        errors=ordered(options, columns, whole.source),
        measures=measures,
        diagnostics=frozenset({DIAGNOSTIC}),
        impossible=plausibility.impossible(quantity, statistics),
        own=own,
        own_units=_units(quantity.unit),
        normals=Normals(mean, width, target, quantity.unit, options.bins),
    )


def _errors(mean: Float64, target: Float64, quantity: Quantity) -> dict[str, ErrorColumn]:
    squared = errors.squared_error(target, mean)
    return {
        "squared_error": ErrorColumn(squared, f"{quantity.unit}²", quantity.acceptable),
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
