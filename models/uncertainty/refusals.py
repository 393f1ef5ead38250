"""Why a measure is refused: unknown, not to be had from this model, or not to be had before the label."""

from __future__ import annotations

from typing import TypeVar

Statistic = TypeVar("Statistic")


class UnknownMeasure(ValueError):
    """No such measure for this kind of predictive."""


class NeedsLabel(UnknownMeasure):
    """A diagnostic that is computed with the label: it can never decide whether to answer."""


class MeasureAbsent(ValueError):
    """The measure is defined, but this model cannot give it (a single model has no knowledge measure)."""


def need(statistic: Statistic | None, measure: str) -> Statistic:
    """Return the statistic that a measure is made of.

    Raises:
        MeasureAbsent: it does not exist for this model.
    """
    if statistic is None:
        raise MeasureAbsent(f"{measure} needs an ensemble (or a sampled model); a single model does not have it")
    return statistic


def need_ensemble(members: int, measure: str) -> None:
    """Passes two members and more.

    Raises:
        MeasureAbsent: there are fewer.
    """
    if members < 2:
        raise MeasureAbsent(f"{measure} needs an ensemble (or a sampled model) of at least 2 members, got {members}")
