"""Assignment of files to scans by official file names, in any folder.

A scan's id is the part of its file names before the kind; digits in folder names have no effect. If several scans have
the same id, as in two parts of a data set, a scan takes the files that share most of its leading folders.
"""

import itertools
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from models.evaluation.unit_errors import BadFile
from models.tasks.lesion.data import metaimage

TRUTH, MASK = "gt_isovox", "isovox_fg_mask"
SEGMENTATION, PROBABILITY = "pred_seg", "pred_prob"
SEGMENTATION_SLOT = "white-matter-multiple-sclerosis-lesion-segmentation"
UNCERTAINTY_SLOT = "white-matter-multiple-sclerosis-lesion-uncertainty-map"
"""Folders of Grand Challenge, in which files are named like their image."""
_SLOTS = {SEGMENTATION_SLOT: SEGMENTATION, UNCERTAINTY_SLOT: "uncs_rmi"}
_NAME = re.compile(
    r"(?P<id>.+?)_(?P<kind>gt_isovox|isovox_fg_mask|pred_seg|pred_prob(?:_member\d+)?|uncs_\w+)\.(?:nii\.gz|mha)"
)
_MEMBER = re.compile(r"pred_prob_member(\d+)")
_SHIFTED = {"dev_out", "eval_out", "out", "ljubljana", "shifted"}
_IN_DOMAIN = {"dev_in", "eval_in", "train", "in"}

Kinds = Mapping[str, tuple[Path, ...]]
"""Files of one id, by kind."""


@dataclass(frozen=True)
class Scan:
    """A scan with a prediction, and its files."""

    id: str
    folder: str
    """Folder of the prediction, relative to the root."""
    truth: Path
    segmentation: Path | None
    probability: Path | None
    """Probability map; None only if ``segmentation`` exists."""
    mask: Path | None
    maps: Mapping[str, Path]
    """Voxel uncertainty maps by measure, at least one."""
    members: tuple[Path, ...]
    """Probability maps of the members; may be empty."""
    shifted: bool | None
    """True if the folder names mark the scan as shifted, False if as in-domain; None if neither or both."""


@dataclass(frozen=True)
class Scans:
    """All scans with predictions, by folder and id; all have the same measures and number of members."""

    scans: tuple[Scan, ...]
    unpredicted: tuple[str, ...]
    """Ids of ground truths without a prediction."""


def find(root: Path, truths: Path | None) -> Scans:
    """Return the scans predicted below ``root``; ground truths and brain masks may lie below ``truths`` instead.

    Raises:
        BadFile: the folder does not exist or has no predictions, a prediction has no ground truth or uncertainty map,
            files of one kind and id are ambiguous, or only some scans have a measure or member.
    """
    predicted = _search(root)
    known = predicted if truths is None else _search(truths)
    unsorted = [
        _scan(root, truths or root, scan_id, output, kinds, known.get(scan_id, {}))
        for scan_id, kinds in predicted.items()
        for output in kinds.get(SEGMENTATION, kinds.get(PROBABILITY, ()))
    ]
    scans = tuple(sorted(unsorted, key=lambda scan: (scan.folder, natural(scan.id))))
    if not scans:
        raise BadFile(
            f"{root} has no predictions: files ID_{SEGMENTATION}.nii.gz or ID_{PROBABILITY}.nii.gz are needed, or "
            f"images/{SEGMENTATION_SLOT}/ID{metaimage.SUFFIX}"
        )
    _check_same(scans)
    _check_used_once(scans, predicted)
    ids = {scan.id for scan in scans}
    unpredicted = sorted(
        (scan_id for scan_id, kinds in known.items() if TRUTH in kinds and scan_id not in ids), key=natural
    )
    return Scans(scans, tuple(unpredicted))


def _search(root: Path) -> Mapping[str, Kinds]:
    if not root.is_dir():
        raise BadFile(f"{root} is no folder; one of NIfTI files with the official names is needed")
    by_id: dict[str, dict[str, tuple[Path, ...]]] = defaultdict(dict)

    def add(scan_id: str, kind: str, path: Path) -> None:
        by_id[scan_id][kind] = (*by_id[scan_id].get(kind, ()), path)

    for path in sorted((*root.rglob("*.nii.gz"), *root.rglob(f"*{metaimage.SUFFIX}"))):
        if match := _NAME.fullmatch(path.name):
            add(match["id"], match["kind"], path)
    if not any(kind in kinds for kinds in by_id.values() for kind in (SEGMENTATION, PROBABILITY)):
        for path in sorted(root.rglob(f"*{metaimage.SUFFIX}")):
            if path.parent.name in _SLOTS:
                add(path.stem, _SLOTS[path.parent.name], path)
    return by_id


def _scan(root: Path, truths: Path, name: str, output: Path, kinds: Kinds, known: Kinds) -> Scan:
    relative = output.parent.relative_to(root)
    own = {kind: _nearest(root, files, relative) for kind, files in kinds.items() if kind != TRUTH}
    theirs = {kind: _nearest(truths, known[kind], relative) for kind in (TRUTH, MASK) if kind in known}
    if TRUTH not in theirs:
        raise BadFile(f"{output} has no ground truth: {name}_{TRUTH}.nii.gz is needed below {truths}")
    maps = {kind.removeprefix("uncs_"): file for kind, file in own.items() if kind.startswith("uncs_")}
    if not maps:
        raise BadFile(f"{output} has no uncertainty map: {name}_uncs_rmi.nii.gz is needed, or one of another measure")
    members = {int(match[1]): file for kind, file in own.items() if (match := _MEMBER.fullmatch(kind))}
    return Scan(
        id=name,
        folder=relative.as_posix(),
        truth=theirs[TRUTH],
        segmentation=own.get(SEGMENTATION),
        probability=own.get(PROBABILITY),
        mask=own.get(MASK) or theirs.get(MASK),
        maps=dict(sorted(maps.items(), key=lambda pair: (pair[0] != "rmi", pair[0]))),
        members=tuple(members[number] for number in sorted(members)),
        shifted=_shifted((*relative.parts, *theirs[TRUTH].parent.relative_to(truths).parts)),
    )


def _nearest(root: Path, files: tuple[Path, ...], folder: Path) -> Path:
    """Return the file that shares most leading folders with a scan's folder.

    If there are several, return the one in the folder itself.
    """

    def nearness(file: Path) -> tuple[int, bool]:
        place = file.parent.relative_to(root)
        pairs = zip(place.parts, folder.parts, strict=False)
        return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs)), place == folder

    ranked = sorted(files, key=nearness, reverse=True)
    if len(ranked) > 1 and nearness(ranked[0]) == nearness(ranked[1]):
        raise BadFile(f"{ranked[0]} and {ranked[1]} are of one scan by name; give different ids, or judge one folder")
    return ranked[0]


def _check_used_once(scans: tuple[Scan, ...], predicted: Mapping[str, Kinds]) -> None:
    """Check that every prediction file belongs to exactly one scan, and that no two scans share a ground truth."""
    users: dict[Path, str] = {}
    for scan in scans:
        files = (scan.truth, scan.mask, scan.segmentation, scan.probability, *scan.maps.values(), *scan.members)
        for file in files:
            if file is not None and users.setdefault(file, scan.folder) != scan.folder:
                raise BadFile(
                    f"{file} would serve two scans of id {scan.id}, in {users[file]} and in {scan.folder}; each needs "
                    "its own files, in folders that begin alike"
                )
    for scan_id, kinds in predicted.items():
        for kind, paths in kinds.items():
            unused = [file for file in paths if file not in users]
            if unused and kind not in (TRUTH, MASK):
                raise BadFile(f"{unused[0]} belongs to no scan: {scan_id}_{SEGMENTATION}.nii.gz is not there beside it")


def _check_same(scans: tuple[Scan, ...]) -> None:
    most = max(scans, key=lambda scan: len(scan.maps))
    for scan in scans:
        output = scan.segmentation or scan.probability
        if absent := most.maps.keys() - scan.maps.keys():
            name = f"{scan.id}_uncs_{min(absent)}.nii.gz"
            raise BadFile(f"{output} has no {name}, and scan {most.id} has; every scan needs the same measures")
        if set(scan.maps) != set(most.maps) or len(scan.members) != len(most.members):
            what = "measures" if set(scan.maps) != set(most.maps) else "number of members"
            raise BadFile(f"{output} has another {what} than scan {most.id}; every scan needs the same")


def _shifted(folders: tuple[str, ...]) -> bool | None:
    """Return whether folder names mean shifted (True) or in-domain (False); None if neither or both."""
    names = {name.lower() for name in folders}
    shifted, inside = bool(_SHIFTED & names), bool(_IN_DOMAIN & names)
    return shifted if shifted != inside else None


def natural(scan_id: str) -> tuple[int, str]:
    """Return a sort key that orders numeric ids by value."""
    return (int(scan_id), scan_id) if scan_id.isdecimal() else (-1, scan_id)
