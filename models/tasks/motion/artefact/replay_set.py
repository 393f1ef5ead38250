"""Replay sets of motion: feature maps of requests, stored as runs of equal cells, planned as in serving."""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models import npz, replay
from models.artefact import Artefact
from models.building import UNSTATED, Provenance
from models.executors.device import CPU, Device
from models.replay import Arrays, Passes, Scores
from models.tasks.motion.artefact import recipe as recipes
from models.tasks.motion.data.examples import Examples
from models.tasks.motion.inference import members as ensembles
from models.tasks.motion.inference.grid import Grid
from models.tasks.motion.inference.planning import MOST_REQUESTS, Planning
from models.tasks.motion.spec import HEADS, TRAJECTORIES

Float32 = NDArray[np.float32]

UNITS = 600
"""Number of requests in a set, if there are enough."""
MOST_SCENES = 300
"""Largest number of scenes of a user's folder that requests are taken from."""
_RUNS, _SKIPS, _LENGTHS, _VALUES = "runs", "skips", "lengths", "values"


def encode(known: Examples, shifted: Sequence[Examples], units: int = UNITS) -> bytes:
    """Return a file of inputs: maps of in-domain and shifted requests, drawn and shuffled with a fixed seed."""
    places = [(part, row) for part in shifted for row in range(len(part))]
    inside, outside = replay.chosen(len(known), len(places), units)
    picked = [(known, int(row)) for row in inside] + [places[at] for at in outside.tolist()]
    return packed([picked[at][0].drawn(np.array([picked[at][1]]))[0] for at in replay.shuffled(len(picked)).tolist()])


def packed(maps: Sequence[Float32]) -> bytes:
    """Encode maps [channels, y, x] as runs of equal cells that are not zero.

    Stored for each run: the number of cells since the end of the last run, its length, and its value in float32.
    """
    runs, skips, lengths, values = [], [], [], []
    for array in maps:
        flat = np.ascontiguousarray(array, np.float32).reshape(-1)
        bits = flat.view(np.uint32)
        starts = np.flatnonzero(np.r_[True, bits[1:] != bits[:-1]])
        length = np.diff(np.r_[starts, len(flat)])
        full = bits[starts] != 0
        starts, length = starts[full], length[full]
        skips.append(starts - np.r_[0, (starts + length)[:-1]] if len(starts) else starts)
        lengths.append(length)
        values.append(flat[starts])
        runs.append(len(starts))
    return npz.encode(
        {
            _RUNS: np.array(runs, np.uint32),
            _SKIPS: np.concatenate(skips).astype(np.uint32),
            _LENGTHS: np.concatenate(lengths).astype(np.uint32),
            _VALUES: np.concatenate(values).astype(np.float32),
        }
    )


class Maps:
    """Maps of a file of inputs, decoded on demand.

    Raises:
        BadArrays: counts do not match, or runs exceed a map.
    """

    def __init__(self, arrays: Arrays, grid: Grid) -> None:
        runs = replay.array(arrays, _RUNS, "uint32", None).astype(np.int64)
        total = int(runs.sum())
        skips, lengths = (replay.array(arrays, name, "uint32", total).astype(np.int64) for name in (_SKIPS, _LENGTHS))
        self._values = replay.array(arrays, _VALUES, "float32", total)
        self._grid, self._cells = grid, int(np.prod(grid.shape))
        self._ends = np.cumsum(runs)
        self._stops = np.cumsum(skips + lengths)
        self._lengths = lengths
        widths = np.diff(np.r_[0, self._stops][np.r_[0, self._ends]])
        if (widths > self._cells).any():
            raise npz.BadArrays(f"runs of map {int(widths.argmax())} go beyond its {self._cells} cells")

    def __len__(self) -> int:
        return len(self._ends)

    def rows(self, part: slice) -> Float32:
        """Return consecutive maps as flat rows, [n, channels y x]."""
        flat = np.zeros((part.stop - part.start, self._cells), np.float32)
        for row, number in zip(flat, range(part.start, part.stop), strict=True):
            first, last = int(self._ends[number - 1]) if number else 0, int(self._ends[number])
            stops = self._stops[first:last] - (self._stops[first - 1] if first else 0)
            lengths = self._lengths[first:last]
            places = np.arange(int(lengths.sum())) + np.repeat(stops - np.cumsum(lengths), lengths)
            row[places] = np.repeat(self._values[first:last], lengths)
        return flat


def attached(
    artefact: Artefact,
    calibration: Examples | None,
    judge: Mapping[str, Examples],
    provenance: Provenance,
    *,
    device: Device = CPU,
) -> Artefact:
    """Attach calibration requests and shifted ones as the replay set; without any, return the artefact unchanged."""
    if not calibration:
        return artefact
    shifted = [part.take(part.shifted) for part in judge.values()]
    return replay.attach(artefact, encode(calibration, shifted), replay.units_of(provenance), device=device)


def of_files(artefact: Artefact, directory: Path) -> Artefact:
    """Attach in-domain and shifted requests of a folder's split ``dev`` as the replay set.

    Raises:
        BadFile, OSError, ValueError: a file is missing or cannot be read.
    """
    from models.tasks.motion.data import folders, gathering
    from models.tasks.motion.training import shares

    with tempfile.TemporaryDirectory(prefix="demur-") as scratch:
        split = folders.split(directory, shares.DEV)
        dev = gathering.stored(split, Path(scratch) / shares.DEV, recipes.read(artefact).grid, most_scenes=MOST_SCENES)
        return attached(artefact, dev.take(~dev.shifted), shares.judging({shares.DEV: dev}), UNSTATED)


def replayer(artefact: Artefact, arrays: Arrays, device: Device) -> Passes:
    """Return the passes that score the maps of a replay set.

    Raises:
        BadArrays: see ``Maps``.
        ArtefactError, ProviderUnavailable: the members cannot be run.
    """
    recipe = recipes.read(artefact)
    maps = Maps(arrays, recipe.grid)
    members = ensembles.members(artefact, device=device)
    planning = Planning(members, recipe)

    def score(part: slice) -> Scores:
        return replay.scored(HEADS, artefact.manifest, {TRAJECTORIES.name: planning.read(planning(maps.rows(part)))})

    return Passes(len(maps), min(MOST_REQUESTS, members.pass_maps), score)
