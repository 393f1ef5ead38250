"""Training scans that calibrate an ensemble: a share that no member trains on, or folds that are scored crosswise."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from models.tasks.lesion.data.examples import Files

FOLDS = 3
"""Parts that few training scans are cut into."""
SHARE = 40
"""Scans that are kept from all members where there are plenty: a 95 % quantile with a standard deviation of 3 %."""
PLENTY = 4 * SHARE
"""Training scans from which ``SHARE`` of them are kept."""


@dataclass(frozen=True)
class HeldOut:
    """How training scans are divided between members and calibration."""

    train: tuple[Files, ...]
    """Scans of the members that are served."""
    share: tuple[Files, ...] = ()
    """Scans that the served members have not seen and are scored on."""
    folds: tuple[tuple[Files, ...], ...] = ()
    """Parts of ``train``; each is scored by members that were trained on the others in the same way."""


def held_out(scans: Sequence[Files]) -> HeldOut:
    """Return a share of many training scans, folds of few; nothing of a single one.

    A share is split-conformal calibration as it is proved: scores of one fixed ensemble on scans that it has not seen.
    Of few scans a share has either too few for a 95 % quantile (19 are needed) or takes them from training. Folds score
    every scan, at the price of as many more trainings; their thresholds are those of ensembles of slightly fewer scans.
    """
    if len(scans) >= PLENTY:
        share, *others = blocks(scans, len(scans) // SHARE)
        return HeldOut(tuple(scan for part in others for scan in part), share=share)
    if len(scans) < 2:
        return HeldOut(tuple(scans))
    return HeldOut(tuple(scans), folds=blocks(scans, min(FOLDS, len(scans))))


def blocks(scans: Sequence[Files], count: int) -> tuple[tuple[Files, ...], ...]:
    """Return the scans in ``count`` parts of like size, with a like number of each folder in each.

    A part takes neighbours by name, because scans of one patient often follow each other.
    """
    folders: dict[Path, list[Files]] = defaultdict(list)
    for scan in sorted(scans, key=lambda one: str(one.flair)):
        folders[scan.flair.parent].append(scan)
    parts: list[list[Files]] = [[] for _ in range(count)]
    for members in folders.values():
        sizes = [len(members) // count] * count
        emptiest = sorted(range(count), key=lambda at: (len(parts[at]), at))
        for at in emptiest[: len(members) % count]:
            sizes[at] += 1
        for part, size in zip(parts, sizes, strict=True):
            part += members[:size]
            members = members[size:]
    return tuple(tuple(part) for part in parts if part)
