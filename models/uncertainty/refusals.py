"""Errors of measures: unknown, not available from this model, or not available before the label."""

from typing import TypeVar

Statistic = TypeVar("Statistic")


class UnknownMeasure(ValueError):
    """The measure does not exist for this kind of predictive."""


class NeedsLabel(UnknownMeasure):
    """The measure is a diagnostic that is computed with the label: it cannot decide whether to answer."""


class MeasureAbsent(ValueError):
    """The measure exists, but this model cannot provide it (a single model has no knowledge measure)."""


def need(statistic: Statistic | None, measure: str) -> Statistic:
    """Return the statistic from which a measure is computed.

    Raises:
        MeasureAbsent: it does not exist for this model.
    """
    if statistic is None:
        raise MeasureAbsent(f"{measure} needs an ensemble (or a sampled model); a single model does not have it")
    return statistic


def need_ensemble(members: int, measure: str) -> None:
    """Check that there are at least two members.

    Raises:
        MeasureAbsent: there are fewer.
    """
    if members < 2:
        raise MeasureAbsent(f"{measure} needs an ensemble (or a sampled model) of at least 2 members, got {members}")
