"""An answer about a brain scan in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from demur._lesion_answer import LesionAnswer
    from demur._lesion_findings import Interval

_SHOWN = 10
"""Lesions in a summary."""


def outcome(answer: LesionAnswer) -> str:
    """What was found and decided, such as ``7 lesions, 3.41 ml, answered``."""
    if answer.count is None or answer.volume_mm3 is None:
        return f"{answer.verdict}, prediction withheld"
    lesions = f"{answer.count} lesion{'' if answer.count == 1 else 's'}"
    return f"{lesions}, {answer.volume_mm3 / 1000:.2f} ml, {answer.verdict}"


def text(answer: LesionAnswer) -> str:
    """Some lines: decision, burden, uncertainties, the largest lesions, remarks."""
    return "\n".join(_lines(answer))


def _lines(answer: LesionAnswer) -> Iterator[str]:
    yield f"{answer.name or 'scan'}: {answer.verdict}"
    yield f"  {answer.comparison}, policy {answer.policy}"
    if answer.shifted:
        yield f"  unlike the training scans: {', '.join(answer.shift_reasons)}"
    if answer.count is not None and answer.volume_mm3 is not None:
        yield f"  lesions: {answer.count}{_within(answer.count_interval, 1, '.0f')}"
        yield f"  volume: {answer.volume_mm3 / 1000:.2f} ml{_within(answer.volume_interval, 1000, '.2f')}"
    if answer.brain_ml > 0:
        yield f"  brain: {answer.brain_ml:.0f} ml{', interpolated to 1 mm' if answer.resampled else ''}"
    means = {"total": answer.total, "data": answer.data, "knowledge": answer.knowledge, "rmi": answer.rmi}
    if said := [f"{name} {value:.4g}" for name, value in means.items() if value is not None]:
        yield f"  mean uncertainty of the brain, nats: {', '.join(said)}"
    if answer.look_at_voxels is not None:
        yield f"  voxels to look at: {answer.look_at_voxels:.2%} of the brain"
    if answer.lesions:
        yield "   #    volume mm³   x, y, z mm                probability  structural"
    for one in answer.lesions[:_SHOWN]:
        where = ", ".join(f"{coordinate:.1f}" for coordinate in one.centroid_mm)
        structural = "" if one.structural_uncertainty is None else f"{one.structural_uncertainty:.2f}"
        advice = {True: "look at it", False: "trust it", None: "no advice"}[one.look_at]
        yield (
            f"  {one.label:>2}  {one.volume_mm3:>12,.0f}   {where:<24}  {one.mean_probability:>11.2f}"
            f"  {structural:>10}   {advice}"
        )
    if len(answer.lesions) > _SHOWN:
        rest = answer.lesions[_SHOWN:]
        yield f"  and {len(rest)} smaller ones, {sum(one.look_at is True for one in rest)} of them to be looked at"
    for remark in answer.remarks:
        yield f"  {remark.code}: {remark.message}"
    yield f"  {answer.origin}"


def _within(interval: Interval | None, divisor: float, form: str) -> str:
    if interval is None:
        return ""
    lower, upper = interval.lower / divisor, interval.upper / divisor
    return f" ({lower:{form}} to {upper:{form}} with {interval.level:.0%})"
