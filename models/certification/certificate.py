"""Certificate of a threshold: its guarantee and evidence, for one model, data and time; and findings of procedures."""

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
class Finding:
    """Outcome of one procedure on one set of units."""

    procedure: str
    """Name and source of the method."""
    threshold: float | None
    """Threshold by ``units.as_threshold``; None: there is no guarantee, so all units are deferred."""
    statement: str
    """Guarantee in words; empty without a threshold."""
    reason: str
    """Reason why there is no threshold, and what would help; empty with one."""
    units: int
    """Number of units behind the guarantee: for risks those that were tested, without rulers."""
    answered: int | None = None
    """Number of these at or below the threshold."""
    loss: float | None = None
    """Sum of the losses of the answered units (their failures); for a log, of their weighted losses."""
    pvalue: float | None = None
    """p-value of the test at the threshold."""
    low: float | None = None
    high: float | None = None
    """Upper end of the interval of the realised retention, if the procedure has one."""


def nothing(procedure: str, units: int, reason: str) -> Finding:
    """Return the finding that no threshold has the guarantee."""
    return Finding(procedure, None, "", f"no certifiable threshold: defer all; {reason}", units)


@dataclass(frozen=True)
class Certificate:
    """Certificate, void after a change of model, score or numeric profile, proven drift, or the day ``expires``."""

    procedure: str
    statement: str
    """Guarantee in words."""
    measure: str
    """Score that is compared with the threshold."""
    data: str
    """sha256 of scores and errors of the fold."""
    fold: str
    """``calibrate``, or ``all`` if no unit was kept for evaluation."""
    n: int
    """Number of units behind the guarantee."""
    issued: str
    """Day, ISO 8601."""
    expires: str
    """Last day on which it holds, ISO 8601."""
    alpha: float | None = None
    """Largest risk; None for goals without a risk."""
    delta: float | None = None
    """1 - confidence; None for statements in expectation."""
    retention: float | None = None
    """Target retention."""
    error: str | None = None
    acceptable: float | None = None
    """Largest acceptable error; None if the errors are the losses."""
    bound: float | None = None
    """Largest possible loss."""
    model: str | None = None
    """Tag of the artefact; None if the file does not have it."""
    group: str | None = None
    """Value of the column that selects the units; None for all units."""
    answered: int | None = None
    """Number of the n units at or below the threshold."""
    loss: float | None = None
    """Summed loss of these; their failures if losses are 0 and 1."""
    pvalue: float | None = None
    low: float | None = None
    high: float | None = None
    """Upper end of the interval of the realised retention with 1 - delta."""

    def expired(self, on: date) -> bool:
        """Return whether the certificate no longer holds on a day."""
        return on > date.fromisoformat(self.expires)

    def plain(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        return asdict(self)

    @classmethod
    def from_plain(cls, values: Mapping[str, Any]) -> Certificate:
        """Read the values that ``plain`` wrote.

        Raises:
            ValueError: a field is missing or unknown, or a date is not valid.
        """
        known = {attribute.name for attribute in fields(cls)}
        needed = {"procedure", "statement", "measure", "data", "fold", "n", "issued", "expires"}
        if wrong := sorted((values.keys() - known) | (needed - values.keys())):
            raise ValueError(
                f"certificate: {wrong[0]} is missing or unknown; the fields are {', '.join(sorted(known))}"
            )
        certificate = cls(**values)
        for day in (certificate.issued, certificate.expires):
            date.fromisoformat(day)
        return certificate


@dataclass(frozen=True)
class About:
    """Binding of a certificate to measure, model and time, as far as the caller knows."""

    measure: str
    issued: date
    error: str | None = None
    model: str | None = None
    group: str | None = None
    fold: str = "all"
    valid: timedelta = field(default=timedelta(days=VALID_DAYS))


def fingerprint(units: Units) -> str:
    """Return the sha256 of float32 scores, float64 errors and propensities [n], little-endian, in their order."""
    digest = sha256(np.ascontiguousarray(units.scores, "<f4").data)
    for values in (units.errors, units.propensity):
        if values is not None:
            digest.update(np.ascontiguousarray(values, "<f8").data)
    return digest.hexdigest()
