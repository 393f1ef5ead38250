"""Carry a certificate with its threshold: the guarantee that remains under the new profile.

Let A0 be the units answered under the reference profile at τ, A1 those answered under the new one at τ'. With losses l
in [0, b] that do not change,

    joint risk      E[l 1{A1}] <= E[l 1{A0}] + b P(A1 \\ A0)
    selective risk  E[l | A1] <= alpha + (alpha P(A0 \\ A1) + b P(A1 \\ A0)) / P(A1)    if E[l | A0] <= alpha

The second follows from E[l 1{A0 and A1}] <= alpha P(A0) and P(A0) <= P(A1) + P(A0 \\ A1). The three shares are
replaced by limits from the replayed units that hold together with 95 %, so a guarantee with 1 - delta holds with at
least 0.95 - delta. Losses of 0 and 1 of a Gaussian head also change if its means move: by at most 0.8 E|Δm| / sd in
probability if the predicted distribution is right (two edges, density at most 0.4 / sd); three times the replayed mean
is added. Other losses of such a head change by as much as its means, which has no bound: their certificates are void.

The in-domain units of the replay must come from the distribution of the certificate; for certificates of own data,
replay that data (``--data``).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from models.qualification.intervals import MeansVerdict
from models.qualification.threshold import COUNTED, CarriedThreshold

CONFIDENCE = 0.95
_EDGES = 0.8  # 2 / sqrt(2 pi): density of two edges of a normal distribution, per standard deviation


@dataclass(frozen=True)
class CarriedCertificate:
    """Certificate for the new profile, or the reason why there is none."""

    certificate: dict[str, Any] | None
    """Fields of ``certification.certificate.Certificate`` for the new profile, ``profile`` and ``carried``."""
    reason: str
    """Reason why the certificate is void; empty if it remains valid."""


def carried_certificate(
    certificate: Mapping[str, Any],
    at: CarriedThreshold,
    *,
    profile: str,
    reference_profile: str,
    means: MeansVerdict | None = None,
) -> CarriedCertificate:
    """Return the certificate with its guarantee weakened by the limits from replayed units.

    Args:
        certificate: JSON object, as ``Certificate.plain`` writes it.
        at: its threshold, carried.
        profile: name of the new profile.
        means: verdict on the means of a Gaussian head.
    """
    if certificate.get("profile") == profile:
        return CarriedCertificate(dict(certificate), "")
    if at.verdict != "carried":
        return _void(f"its threshold is {at.verdict}: {at.reason}")
    if means is not None and means.verdict != "carried":
        return _void(means.reason)
    if certificate.get("group") is not None:
        return _void("it is about one group, and replayed units are not grouped")
    moving = means is not None and means.largest > 0
    still = at.newly == 0 and at.lost == 0 and at.units >= COUNTED and not moving
    alpha, bound = certificate.get("alpha"), _bound(certificate)
    if moving and alpha is not None and bound is not None and certificate.get("acceptable") is None:
        return _void("its losses have no largest acceptable error, and change where means move")
    if (alpha is not None or certificate.get("error") is not None) and bound is None and not still:
        return _void(
            f"losses have no bound, and of {at.units} units {at.newly} are newly answered and {at.lost} newly deferred "
            f"(needed: none of at least {COUNTED}, and no mean that moves)"
        )
    carried: dict[str, Any] = {
        "from": reference_profile,
        "threshold": at.threshold,
        "to": at.carried,
        "units": at.units,
        "newly_answered_limit": at.newly_limit,
        "newly_deferred_limit": at.lost_limit,
        "alpha": alpha,
        "delta": certificate.get("delta"),
        "retention": certificate.get("retention"),
    }
    weakened = dict(certificate) | {"profile": profile, "carried": carried}
    text = f"; carried from {reference_profile} to {profile}"
    if alpha is not None and bound is not None:
        return _risk(weakened, at, alpha, bound, text, 0.0 if means is None else means.mean)
    if alpha is None:
        newly, lost, _ = at.joint
        text += f": at most {lost:.3g} of all units fewer are answered, with confidence {CONFIDENCE:g}"
        if certificate.get("delta") is not None:
            weakened["delta"] = min(1.0, certificate["delta"] + 1 - CONFIDENCE)
        if certificate.get("retention") is not None:
            weakened["retention"] = max(0.0, certificate["retention"] - lost)
        if certificate.get("low") is not None:
            weakened["low"] = max(0.0, certificate["low"] - lost)
        if certificate.get("high") is not None:
            weakened["high"] = min(1.0, certificate["high"] + newly)
    weakened["statement"] = certificate.get("statement", "") + text
    return CarriedCertificate(weakened, "")


def _risk(
    weakened: dict[str, Any], at: CarriedThreshold, alpha: float, bound: float, text: str, moved: float
) -> CarriedCertificate:
    """Return the certificate with the largest risk that is still guaranteed."""
    newly, lost, answered = at.joint
    delta = weakened.get("delta")
    changed = 3 * _EDGES * moved if weakened.get("acceptable") is not None else 0.0
    if answered <= 0:
        return _void("no replayed unit is answered")
    if delta is None:
        risk, what = alpha + bound * (newly + changed), "joint risk"
    else:
        risk = alpha + (alpha * lost + bound * (newly + changed)) / answered
        what = "selective risk"
        weakened["delta"] = min(1.0, delta + 1 - CONFIDENCE)
    if not risk < bound or not math.isfinite(risk):
        return _void(f"the risk that could still be promised, {risk:.3g}, is not below the largest loss, {bound:g}")
    weakened["alpha"] = risk
    sure = CONFIDENCE if delta is None else 1 - weakened["delta"]
    weakened["statement"] += f"{text}: {what} at most {risk:.4g} with confidence {sure:.3g}"
    return CarriedCertificate(weakened, "")


def _bound(certificate: Mapping[str, Any]) -> float | None:
    """Return the largest loss; None if there is none."""
    if certificate.get("acceptable") is not None:
        return 1.0
    bound = certificate.get("bound")
    return None if bound is None or not math.isfinite(bound) else float(bound)


def _void(reason: str) -> CarriedCertificate:
    return CarriedCertificate(None, f"certificate void: {reason}")
