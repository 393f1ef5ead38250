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
    """The fields of a window are not valid; the message names the field, its value and what is needed."""


@dataclass(frozen=True)
class Window:
    """Columns of N units. None means unknown; nothing is assumed in its place unless a field says so.

    Raises:
        BadWindow: fields of different length, or of the wrong kind.
    """

    uncertainty: Floats
    """Larger is less certain [N]; NaN is the least certain of all."""
    answered: Mask
    """Whether the unit was answered by the policy in force; otherwise it was deferred [N]."""
    propensity: Doubles
    """Probability that a label is requested, given all that was known at the decision [N], in (0, 1]."""
    labelled: Mask
    """Whether a label is there [N]."""
    error: Doubles
    """Error of the model's prediction [N]; counts only where labelled."""
    expected: Doubles | None = None
    """Error predicted without the label [N], in the error's unit."""
    observation: Doubles | None = None
    """Probability that a requested label has arrived by now [N]; None: 1."""
    requested: Mask | None = None
    """Outcome of the draw [N]; None: known only where the propensity is 0 or 1."""
    second: Doubles | None = None
    """Probability that a request without a label was drawn again, and then had to be labelled [N]; NaN if the first
    request was not given up, or there was no second draw."""
    human_error: Doubles | None = None
    """Error of the answer that somebody gave for a deferred unit [N], NaN if unknown; None: 0."""
    age: Doubles | None = None
    """Seconds since the decision [N]."""
    delay: Doubles | None = None
    """Seconds from decision to label [N]; counts only where labelled."""

    def __post_init__(self) -> None:
        n = len(self.uncertainty)
        for field in fields(self):
            values = getattr(self, field.name)
            if values is None:
                continue
            if not isinstance(values, np.ndarray) or values.shape != (n,):
                found = list(np.shape(values))
                raise BadWindow(f"{field.name} has the shape {found}; [N] with N = {n} units is needed")
            wanted = "b" if field.name in ("answered", "labelled", "requested") else "f"
            if values.dtype.kind != wanted:
                kind = "true or false" if wanted == "b" else "floating-point numbers"
                raise BadWindow(f"{field.name} has the type {values.dtype}; {kind} are needed")

    def __len__(self) -> int:
        return len(self.uncertainty)

    @property
    def effective(self) -> Doubles:
        """Probability that a label is there by now [N]: propensity times observation times that of a second draw."""
        found = self.propensity
        if self.observation is not None:
            found = np.minimum(found * self.observation, 1.0)
        if self.second is not None:
            found = found * np.where(np.isnan(self.second), 1.0, self.second)
        return found

    @property
    def good_propensity(self) -> Mask:
        """Return whether each propensity is a probability above 0 [N]; NaN is not."""
        return (self.propensity > 0) & (self.propensity <= 1)

    @property
    def usable(self) -> Mask:
        """Whether the label can be weighted [N]: it has a finite error, and a probability above 0 that it is there."""
        good = self.labelled & self.good_propensity & np.isfinite(self.error)
        if self.observation is not None:
            good &= self.observation > 0
        if self.second is not None:
            good &= ~(self.second <= 0)
        return good

    @property
    def drawn_again(self) -> Mask:
        """Return whether the request was given up and drawn again [N]; those drawn stand for the others."""
        return np.zeros(len(self), bool) if self.second is None else ~np.isnan(self.second)

    @property
    def known_requests(self) -> tuple[Mask, Mask]:
        """Return whether each unit's draw is known [N], and whether its label was requested as far as known [N]."""
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
