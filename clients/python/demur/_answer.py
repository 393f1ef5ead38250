"""What a head with a Gaussian predictive says: mean, variance, intervals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from demur._errors import ServiceFailure, wrong_argument
from demur._head_answer import Floats, HeadAnswer, Response, array, decided, joined, of_members, whole
from demur.v1.common_pb2 import GaussianHead


@dataclass(frozen=True, slots=True)
class Intervals:
    """Calibrated multipliers of the predictive standard deviation, by level of a central interval."""

    levels: tuple[float, ...]
    multipliers: tuple[float, ...]

    def multiplier(self, level: float) -> float:
        """The multiplier of any level in (0, 1), linear between tabulated ones, Gaussian without a table.

        The true multiplier is convex in the level for the usual shapes of error, so that a line between two
        levels, or between the mean (level 0) and the first, errs on the wide side.

        Raises:
            InvalidInput: outside (0, 1), or above the highest calibrated level.
        """
        if not 0 < level < 1:
            raise wrong_argument("level", level, "(0, 1)")
        if not self.levels:
            return NormalDist().inv_cdf((1 + level) / 2)
        top = self.levels[-1]
        if level > top + 1e-6:  # levels travel as float32
            raise wrong_argument("level", level, f"(0, {top:g}], the calibrated levels")
        return float(np.interp(level, (0.0, *self.levels), (0.0, *self.multipliers)))


@dataclass(frozen=True, eq=False, repr=False)
class Answer(HeadAnswer):
    """Predictions for N rows, in the order of the question: numbers with a variance.

    Arrays are read-only views of the received message. Values are in the head's unit (``describe()`` tells it),
    uncertainties in its square: kW and kW² of shaft power, °C and °C² of temperature. A row that was deferred
    still carries its prediction, unless the service's policy withholds it (NaN).
    """

    mean: Floats
    """Expected value, float32 [N]."""
    member_means: Floats | None = None
    """Mean of each member, float32 [M, N], on request."""
    member_variances: Floats | None = None
    """Variance of each member, float32 [M, N], on request."""
    intervals: Intervals = field(default=Intervals((), ()))

    @property
    def variance(self) -> Floats:
        """Variance of the predictive, float32 [N]; the same as ``total``."""
        return self.total

    def interval(self, level: float) -> tuple[Floats, Floats]:
        """Central interval that holds the truth with this probability on in-domain data: low, high, [N].

        Multipliers of the standard deviation come from calibration on in-domain data, or from the Gaussian
        where the service gave none.

        Raises:
            InvalidInput: the level is outside (0, 1), or above the highest calibrated one.
        """
        half = np.float32(self.intervals.multiplier(level)) * np.sqrt(self.total)
        return self.mean - half, self.mean + half

    def _predictions(self) -> Iterator[tuple[str, NDArray[Any]]]:
        yield "mean", self.mean


def gaussian(head: GaussianHead, response: Response) -> Answer:
    """The answer in a head's message, which is in a response.

    Raises:
        ServiceFailure: arrays of the message differ in length.
    """
    fields = decided(head, response)
    n = len(fields["decisions"])
    return Answer(
        **fields,
        mean=array(head.mean, n),
        member_means=of_members(head.member_means, n),
        member_variances=of_members(head.member_variances, n),
        intervals=_intervals(tuple(head.intervals.levels), tuple(head.intervals.multipliers)),
    )


def join_gaussian(parts: Sequence[Answer]) -> Answer:
    """One answer for consecutive parts of a batch.

    Raises:
        ServiceFailure: the model or its numeric profile changed between the parts.
    """
    if len(parts) == 1:
        return parts[0]
    return Answer(
        **joined(parts),
        mean=whole(parts, "mean"),
        member_means=whole(parts, "member_means", axis=1),
        member_variances=whole(parts, "member_variances", axis=1),
        intervals=parts[0].intervals,
    )


@lru_cache(maxsize=8)
def _intervals(levels: tuple[float, ...], multipliers: tuple[float, ...]) -> Intervals:
    if len(levels) != len(multipliers):
        raise ServiceFailure(f"{len(multipliers)} interval multipliers for {len(levels)} levels", code="malformed")
    return Intervals(levels, multipliers)
