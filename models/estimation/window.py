"""Window: the units of one head that were decided between two times, and their labels."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.assessment.ranking import Floats

Mask = NDArray[np.bool_]
Doubles = NDArray[np.float64]


class BadWindow(ValueError):
    """The fields of a window are not valid; the message names the field, its value and the required value."""


@dataclass(frozen=True)
class Window:
    """Columns of N units. None means unknown; no value is assumed in its place unless a field says so.

    Raises:
        BadWindow: fields of different length, or of the wrong kind.
    """

    uncertainty: Floats
    """Score of a unit, larger is less certain [N]; NaN is the least certain."""
    answered: Mask
    """Mask of the units that the policy in force answered; the others were deferred [N]."""
    propensity: Doubles
    """Probability that a label is requested, given all that was known at the decision [N], in (0, 1]."""
    labelled: Mask
    """Mask of the units whose label has arrived [N]."""
    error: Doubles
    """Error of the model's prediction [N]; used only for labelled units."""
    expected: Doubles | None = None
    """Error predicted without the label [N], in the error's unit."""
    observation: Doubles | None = None
    """Probability that a requested label has arrived by now [N]; None means 1."""
    requested: Mask | None = None
    """Outcome of the draw [N]; None if it is known only for propensities of 0 and 1."""
    second: Doubles | None = None
    """Probability that a request without a label was drawn again, with a label required then [N]; NaN if the first
    request was not abandoned, or there was no second draw."""
    human_error: Doubles | None = None
    """Error of a person's answer for a deferred unit [N], NaN if unknown; None means 0."""
    age: Doubles | None = None
    """Seconds since the decision [N]."""
    delay: Doubles | None = None
    """Seconds from decision to label [N]; used only for labelled units."""

    def __post_init__(self) -> None:
        n = len(self.uncertainty)
        for field in fields(self):
            values = getattr(self, field.name)
            if values is None:
                continue
            if not isinstance(values, np.ndarray) or values.shape != (n,):
                shape = list(np.shape(values))
                raise BadWindow(f"{field.name} has the shape {shape}; [N] with N = {n} units is needed")
            code = "b" if field.name in ("answered", "labelled", "requested") else "f"
            if values.dtype.kind != code:
                kind = "true or false" if code == "b" else "floating-point numbers"
                raise BadWindow(f"{field.name} has the type {values.dtype}; {kind} are needed")

    def __len__(self) -> int:
        return len(self.uncertainty)

    @property
    def effective(self) -> Doubles:
        """Probability that the label has arrived by now [N]: propensity times observation times ``second``."""
        probability = self.propensity
        if self.observation is not None:
            probability = np.minimum(probability * self.observation, 1.0)
        if self.second is not None:
            probability = probability * np.where(np.isnan(self.second), 1.0, self.second)
        return probability

    @property
    def good_propensity(self) -> Mask:
        """Mask of the propensities that are probabilities above 0 [N]; NaN is not."""
        return (self.propensity > 0) & (self.propensity <= 1)

    @property
    def usable(self) -> Mask:
        """Mask of the labels that can be weighted [N]: finite error, and a probability above 0 of being available."""
        good = self.labelled & self.good_propensity & np.isfinite(self.error)
        if self.observation is not None:
            good &= self.observation > 0
        if self.second is not None:
            good &= ~(self.second <= 0)
        return good

    @property
    def drawn_again(self) -> Mask:
        """Mask of the requests that were abandoned and drawn again [N]; those drawn represent the others."""
        return np.zeros(len(self), bool) if self.second is None else ~np.isnan(self.second)

    @property
    def known_requests(self) -> tuple[Mask, Mask]:
        """Masks of the units whose draw is known [N], and of those whose label is known to have been requested [N]."""
        if self.requested is not None:
            return np.ones(len(self), bool), self.requested
        sure = self.propensity == 1
        return sure | (self.propensity == 0), sure

    def strict(self) -> Window:
        """Return the window itself after a check, for callers that treat bad propensities as errors.

        Raises:
            BadWindow: a propensity is NaN, below 0 or above 1, or a labelled unit has no finite error.
        """
        wrong = ~((self.propensity >= 0) & (self.propensity <= 1))
        if wrong.any():
            place = int(np.flatnonzero(wrong)[0])
            raise BadWindow(
                f"propensity of unit {place} is {self.propensity[place]:g}; a probability from 0 to 1 is needed: log "
                "it with the decision"
            )
        wrong = self.labelled & ~np.isfinite(self.error)
        if wrong.any():
            place = int(np.flatnonzero(wrong)[0])
            raise BadWindow(f"error of the labelled unit {place} is {self.error[place]}; a finite number is needed")
        return self

    def take(self, chosen: NDArray[Any]) -> Window:
        """Return the units of a mask [N] or of indices, in their order."""
        parts = {field.name: getattr(self, field.name) for field in fields(self)}
        return replace(self, **{name: values[chosen] for name, values in parts.items() if values is not None})
