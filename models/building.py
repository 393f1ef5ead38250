"""Parts that artefacts are built from: training range, golden rows, calibration, sources."""

import hashlib
import importlib.metadata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from models import calibration, familiarity, plausibility, uncertainty
from models import training_labels as labels_of_training
from models.assessment.classification import error_indicator
from models.assessment.errors import squared_error
from models.calibration import Calibration, IntervalTable, Measured
from models.head import Head
from models.manifest import Range, Source
from models.predictive import Categorical, Gaussian, Predictive
from models.provenance import UNSTATED as UNSTATED
from models.provenance import Provenance as Provenance
from models.schema import Schema

RANGE_LEVEL = 1e-4
"""Quantile at which the training range begins; it ends at one minus it."""
TYPICAL = 0.99
"""Share of many known units inside the typical range."""
GOLDEN, CARD = "golden.npz", "MODEL_CARD.md"


@dataclass(frozen=True)
class Labelled:
    """Rows with their labels."""

    features: NDArray[Any]
    """Features [N, F], in the schema's order and units."""
    labels: Mapping[str, NDArray[Any]]
    """Head name to labels [N]."""
    identity: NDArray[Any] | None = None
    """Values that distinguish rows, such as their time, [N]."""

    def __len__(self) -> int:
        return len(self.features)

    @property
    def fingerprint(self) -> str:
        """sha256 over identity, features and labels by name (little-endian float64, C order)."""
        digest = hashlib.sha256()
        known = () if self.identity is None else (self.identity,)
        for array in (*known, self.features, *(self.labels[name] for name in sorted(self.labels))):
            digest.update(np.ascontiguousarray(array, "<f8").tobytes())
        return digest.hexdigest()


def require_tables(data: Mapping[str, object]) -> None:
    """Check that the tables for a training of rows are present.

    Raises:
        ValueError: train or dev_in is missing.
    """
    if missing := [name for name in ("train", "dev_in") if name not in data]:
        raise ValueError(f"training needs the tables train and dev_in; missing: {', '.join(missing)}")


def training_range(features: NDArray[Any], schema: Schema) -> Range:
    """Return the quantiles ``RANGE_LEVEL`` and 1 - ``RANGE_LEVEL`` of training inputs [N, F], without missing values.

    A column without any value has the whole physical range.
    """
    present = missing_as_nan(features, schema)
    empty = np.isnan(present).all(axis=0)
    filled = np.where(empty, 0.0, present) if empty.any() else present
    lower, upper = np.nanquantile(filled, (RANGE_LEVEL, 1 - RANGE_LEVEL), axis=0)
    lower, upper = np.where(empty, schema.lower, lower), np.where(empty, schema.upper, upper)
    return Range(tuple(map(float, lower)), tuple(map(float, upper)))


def training_inputs(train: NDArray[Any], held_out: NDArray[Any] | None, schema: Schema) -> dict[str, bytes]:
    """Return the file of moments and joint density of training inputs [N, F], by its name.

    Args:
        held_out: in-domain rows that were not used for training; None if there are none.

    Raises:
        ModuleNotFoundError: scikit-learn is missing; the training extra has it.
    """
    from models import familiarity_fit

    return {familiarity.FILE: familiarity.encode(familiarity_fit.fit(train, held_out, schema))}


def training_labels(
    features: NDArray[Any], labels: Mapping[str, NDArray[Any]], column: str, schema: Schema, seed: int = 0
) -> dict[str, bytes]:
    """Return the file of labels of some random training rows against one column, by its name.

    Args:
        features: training inputs [N, F]; rows without a value of the column are never drawn.
        labels: head name to labels [N], in the unit of the head.
        column: name of a column of the schema.
    """
    values = missing_as_nan(features, schema)[:, schema.names.index(column)]
    known = np.random.default_rng(seed).permutation(np.flatnonzero(np.isfinite(values)))[: labels_of_training.POINTS]
    points = {
        head: np.array([[significant(value) for value in part[known]] for part in (values, own)])
        for head, own in labels.items()
    }
    return {labels_of_training.FILE: labels_of_training.encode(points, column, schema)}


def typical(appearances: Sequence[Mapping[str, float]]) -> dict[str, tuple[float, float]]:
    """Return the quantiles (1 - ``TYPICAL``) / 2 and (1 + ``TYPICAL``) / 2 of measured features of units, by name.

    For few units, these are the smallest and the largest value; features that no unit has are left out.
    """
    limits = {}
    for name in appearances[0]:
        values = np.array([features[name] for features in appearances])
        if len(values := values[np.isfinite(values)]):
            low, high = np.quantile(values, ((1 - TYPICAL) / 2, (1 + TYPICAL) / 2))
            limits[name] = (significant(low), significant(high))
    return limits


def significant(value: float | np.floating[Any], digits: int = 6) -> float:
    """Round to ``digits`` significant digits, as manifests and recipes hold numbers."""
    return float(f"{float(value):.{digits}g}")


def missing_as_nan(features: NDArray[Any], schema: Schema) -> NDArray[Any]:
    """Return features [N, F] with NaN for documented sentinels; the same array if the schema has none."""
    if not schema.sentinels:
        return features
    present = features.copy()
    present[schema.missing(features)] = np.nan
    return present


def golden_rows(tables: Iterable[NDArray[Any]], schema: Schema, count: int = 48) -> NDArray[np.float32]:
    """Return inputs to replay, float32 [G, F]: rows of tables [N, F], and rows at the limits of possible values."""
    middle = (schema.lower + schema.upper) / 2
    parts = [middle[None, :]]
    for features in tables:
        chosen = np.linspace(0, len(features) - 1, count // 2).astype(int)
        parts.append(np.asarray(features[chosen], np.float32))
    typical = _median(np.concatenate(parts[1:] or parts))
    edge = np.repeat(typical[None, :], 16, axis=0).astype(np.float32)
    for index, column in enumerate(np.linspace(0, len(schema) - 1, 16).astype(int)):
        edge[index, column] = (schema.lower, schema.upper)[index % 2][column]
    return np.concatenate([*parts, edge]).astype(np.float32)


def calibrate(
    head: Head,
    predictive: Gaussian | Categorical,
    labels: NDArray[Any],
    *,
    ensemble: bool,
    reference: Iterable[str],
    others: Iterable[str] = (),
) -> Calibration:
    """Return retention, reference, intervals and expected error from in-domain labelled units [N].

    Args:
        reference: measures whose in-domain values are kept.
        others: further measures for deferral, beside the head's own.
    """
    intervals = None
    if isinstance(predictive, Gaussian):
        intervals = calibration.interval_table(predictive.mean, predictive.tvar, labels)
    return calibrate_errors(
        head,
        predictive,
        errors_of(predictive, labels),
        ensemble=ensemble,
        reference=reference,
        others=others,
        intervals=intervals,
    )


def calibrate_errors(
    head: Head,
    predictive: Predictive,
    errors: NDArray[np.float64],
    *,
    ensemble: bool,
    reference: Iterable[str],
    others: Iterable[str] = (),
    intervals: IntervalTable | None = None,
) -> Calibration:
    """Calibrate as ``calibrate``, for heads of any kind, from the errors [N] of units."""
    own = head.own_measure(ensemble)
    scores = {name: uncertainty.score(predictive, name) for name in {own, *reference, *others}}
    impossible = plausibility.impossible(head, predictive)
    return Calibration(
        retention=calibration.retention_table(own, scores[own], impossible),
        reference={name: calibration.reference_quantiles(scores[name]) for name in reference},
        intervals=intervals,
        expected_error=calibration.expected_error(own, scores[own], errors),
        others={
            name: Measured(
                calibration.retention_table(name, scores[name], impossible),
                calibration.expected_error(name, scores[name], errors),
            )
            for name in others
        },
    )


def errors_of(predictive: Gaussian | Categorical, labels: NDArray[Any]) -> NDArray[np.float64]:
    """Return squared errors, or 1 if the most probable class is wrong, [N]."""
    if isinstance(predictive, Gaussian):
        return squared_error(labels, predictive.mean)
    return error_indicator(labels, predictive.probabilities)


def sources(
    data: Mapping[str, Labelled], provenance: Provenance, more: Mapping[str, str] = MappingProxyType({})
) -> tuple[Source, ...]:
    """Return the manifest's record of the data from which the artefact was made.

    Args:
        more: roles of further tables by name, beside ``train`` and ``dev_in``.
    """
    roles = {"train": "training", **more, "dev_in": "calibration and early stopping"}
    return sources_by_role({role: data[name] for name, role in roles.items() if name in data}, provenance)


class DataSet(Protocol):
    """Labelled units with a digest."""

    @property
    def fingerprint(self) -> str:
        """sha256 of the units."""

    def __len__(self) -> int: ...


def sources_by_role(data: Mapping[str, DataSet | None], provenance: Provenance) -> tuple[Source, ...]:
    """Return the manifest's sources of data sets by role, without empty ones; an unknown source if all are."""
    known = tuple(
        Source(role, provenance.description, provenance.licence, units.fingerprint, len(units))
        for role, units in data.items()
        if units is not None and len(units)
    )
    return known or (Source("training", provenance.description, provenance.licence, "unknown", 0),)


def versions(*names: str) -> dict[str, str]:
    """Return versions of packages that made the artefact; ONNX Runtime is looked up under two names."""
    installed = {name: importlib.metadata.version(name) for name in names}
    return installed | {"onnxruntime": onnxruntime.__version__}


def _median(rows: NDArray[Any]) -> NDArray[Any]:
    """Return the median of each column [F]; zero if all values are missing."""
    empty = np.isnan(rows).all(axis=0)
    return np.asarray(np.nanmedian(np.where(empty, np.float32(0), rows), axis=0))
