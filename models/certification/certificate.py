"""A certificate: what a threshold promises, on what evidence, for which model, data and time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from datetime import date, timedelta
from hashlib import sha256
from typing import Any

import numpy as np

from models.certification.units import Units

VALID_DAYS = 90


@dataclass(frozen=True)
class Certificate:
    """Void as soon as model, score or numeric profile change, when drift is proven, and after ``expires``."""

    procedure: str
    statement: str
    """The promise in words."""
    measure: str
    """Score that is compared with the threshold."""
    data: str
    """sha256 of scores and errors of the fold."""
    fold: str
    """``calibrate``, or ``all`` where no unit was kept for judging."""
    n: int
    """Units that the promise rests on."""
    issued: str
    """Day, ISO 8601."""
    expires: str
    """Last day on which it holds, ISO 8601."""
    alpha: float | None = None
    """Largest risk that is promised; None for goals without a risk."""
    delta: float | None = None
    """1 - confidence; None for statements in expectation."""
    retention: float | None = None
    """Target retention."""
    error: str | None = None
    acceptable: float | None = None
    """Largest acceptable error; None where errors are losses themselves."""
    bound: float | None = None
    """Largest possible loss."""
    model: str | None = None
    """Tag of the artefact; None where the file does not say."""
    group: str | None = None
    """Value of the column that it is about; None: all units."""
    answered: int | None = None
    """Of the n units, at or below the threshold."""
    loss: float | None = None
    """Summed loss of these; their failures where losses are 0 and 1."""
    pvalue: float | None = None
    low: float | None = None
    high: float | None = None
    """Interval of the realised retention with 1 - delta."""

    def expired(self, on: date) -> bool:
        """Whether it no longer holds on a day."""
        return on > date.fromisoformat(self.expires)

    def plain(self) -> dict[str, Any]:
        """Names and values for JSON."""
        return asdict(self)

    @classmethod
    def from_plain(cls, values: Mapping[str, Any]) -> Certificate:
        """The certificate that ``plain`` wrote.

        Raises:
            ValueError: a field is missing or unknown, or a date is none.
        """
        known = {one.name for one in fields(cls)}
        needed = {"procedure", "statement", "measure", "data", "fold", "n", "issued", "expires"}
        if wrong := sorted((values.keys() - known) | (needed - values.keys())):
            raise ValueError(
                f"certificate: {wrong[0]} is missing or unknown; the fields are {', '.join(sorted(known))}"
            )
        found = cls(**values)
        for day in (found.issued, found.expires):
            date.fromisoformat(day)
        return found


@dataclass(frozen=True)
class About:
    """What a certificate is bound to, as far as the caller knows."""

    measure: str
    issued: date
    error: str | None = None
    model: str | None = None
    group: str | None = None
    fold: str = "all"
    valid: timedelta = field(default=timedelta(days=VALID_DAYS))


def fingerprint(units: Units) -> str:
    """sha256 of float32 scores, float64 errors and propensities [n], little-endian, in their order."""
    digest = sha256(np.ascontiguousarray(units.scores, "<f4").data)
    for values in (units.errors, units.propensity):
        if values is not None:
            digest.update(np.ascontiguousarray(values, "<f8").data)
    return digest.hexdigest()
