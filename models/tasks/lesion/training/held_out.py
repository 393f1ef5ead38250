"""Division of training scans for calibration: a share that no member trains on, or folds for cross-fitting."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from models.tasks.lesion.data.examples import Files

FOLDS = 3
"""Number of folds if there are few training scans."""
SHARE = 40
"""Number of scans held out from all members if there are many: a 95 % quantile has a standard deviation of 3 %."""
PLENTY = 4 * SHARE
"""Least number of training scans for holding out ``SHARE`` of them."""


@dataclass(frozen=True)
class HeldOut:
    """Division of training scans between members and calibration."""

    train: tuple[Files, ...]
    """Training scans of the served members."""
    share: tuple[Files, ...] = ()
    """Scans that score the served members, which have not seen them."""
    folds: tuple[tuple[Files, ...], ...] = ()
    """Parts of ``train``; each is scored by members that were trained on the other parts in the same way."""


def held_out(scans: Sequence[Files]) -> HeldOut:
    """Hold out a share of many training scans, make folds of few, and neither of a single one.

    A share is proper split-conformal calibration: scores of one fixed ensemble on scans that it has not seen. A share
    of few scans is either too small for a 95 % quantile (19 are needed) or leaves too few for training. Folds score
    every scan, at the cost of one more training each; their thresholds are those of ensembles of slightly fewer scans.
    """
    if len(scans) >= PLENTY:
        share, *others = blocks(scans, len(scans) // SHARE)
        return HeldOut(tuple(scan for part in others for scan in part), share=share)
    if len(scans) < 2:
        return HeldOut(tuple(scans))
    return HeldOut(tuple(scans), folds=blocks(scans, min(FOLDS, len(scans))))


def blocks(scans: Sequence[Files], count: int) -> tuple[tuple[Files, ...], ...]:
    """Return the scans in ``count`` parts of similar size, each with a similar number from each folder.

    A part takes consecutive names, because scans of one patient often follow each other.
    """
    folders: dict[Path, list[Files]] = defaultdict(list)
    for scan in sorted(scans, key=lambda files: str(files.flair)):
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
