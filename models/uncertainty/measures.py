"""Table of measures: name to formula, assembled from one table per kind of predictive.

Formulas follow Malinin et al., "Shifts" (NeurIPS 2021 datasets track), section 3 and C.5: total = data + knowledge, for
variances (regression) and entropies in nats (classification).
"""

from collections.abc import Callable, Mapping
from typing import Any

from models.predictive import Array, Categorical, Gaussian, Predictive, Sequences, Trajectories, Volumes
from models.uncertainty import categorical, gaussian, sequences, trajectories, voxels
from models.uncertainty.refusals import NeedsLabel, UnknownMeasure

_TABLES: Mapping[type[Predictive], Mapping[str, Callable[[Any], Array]]] = {
    Gaussian: gaussian.MEASURES,
    Categorical: categorical.MEASURES,
    Sequences: sequences.MEASURES,
    Trajectories: trajectories.MEASURES,
    Volumes: voxels.MEASURES,
}
_LABELLED = {"ll_fu": "the log-likelihood Fisher uncertainty of the note on regression metrics"}


def score(predictive: Predictive, name: str) -> Array:
    """Return the measure of every unit, [N], in the dtype of the statistics.

    Raises:
        UnknownMeasure: ``name`` is not a measure of this kind of predictive.
        NeedsLabel: ``name`` is a diagnostic that is computed with the label.
        MeasureAbsent: the statistics that it needs do not exist for this model.
    """
    refuse_labelled(name)
    table = _TABLES.get(type(predictive), {})
    if name not in table:
        raise UnknownMeasure(f"{name!r} is not a measure of {type(predictive).__name__}; use one of {sorted(table)}")
    return table[name](predictive)


def names(kind: type[Predictive]) -> tuple[str, ...]:
    """Return the measures defined for a kind of predictive, in alphabetical order."""
    return tuple(sorted(_TABLES.get(kind, {})))


def refuse_labelled(name: str) -> None:
    """Check that a measure is not a diagnostic, which no policy can use.

    Raises:
        NeedsLabel: ``name`` is such a diagnostic.
    """
    if name in _LABELLED:
        raise NeedsLabel(
            f"{name!r} ({_LABELLED[name]}) needs the label: it is a diagnostic of `demur evaluate`, never a measure to "
            f"defer by; use one of {list(names(Gaussian))}"
        )
