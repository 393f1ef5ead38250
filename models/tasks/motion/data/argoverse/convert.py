"""Conversion of Argoverse 2 folders to an official folder."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from models import provenance
from models.evaluation.unit_errors import BadFile
from models.tasks.motion.data.argoverse import logs, scenarios
from models.tasks.motion.data.argoverse.recording import Recording
from models.tasks.motion.data.argoverse.roads import SPEED_LIMIT
from models.tasks.motion.data.argoverse.windows import STEP, scenes
from models.tasks.motion.data.writer import Writer
from models.workbench import Progress

DESCRIPTION = "Argoverse 2, converted to the layout of the Shifts motion data set by Demur"
LICENCE = "CC BY-NC-SA 4.0, by the terms of use of Argoverse 2"


@dataclass(frozen=True, slots=True)
class Source:
    """Recording that is not read yet."""

    path: Path
    read: Callable[[Path, float], Recording]


def sources(paths: Iterable[Path]) -> list[Source]:
    """Return the logs and scenarios in folders and below, sorted by path.

    Raises:
        BadFile: a folder has none.
    """
    collected: list[Source] = []
    for path in paths:
        here = [Source(file.parent, logs.read) for file in path.rglob(logs.ANNOTATIONS)]
        here += [Source(file, scenarios.read) for file in path.rglob("scenario*.parquet")]
        if not here:
            raise BadFile(
                f"{path} holds nothing of Argoverse 2: folders with {logs.ANNOTATIONS} or scenario*.parquet are needed"
            )
        collected += here
    return sorted(set(collected), key=lambda source: source.path)


def convert(
    paths: Sequence[Path],
    out: Path,
    split: str,
    *,
    stride: float = 1.0,
    speed_limit: float = SPEED_LIMIT,
    progress: Progress | None = None,
) -> list[Path]:
    """Write the scenes of all recordings below the folders as one split; return their files.

    The city of a scene is not a value of the released enumeration: its ``track`` stays unknown, and its line of tags
    has the additional keys ``city`` and ``source``.

    Args:
        stride: time between scenes of a recording, s; a multiple of 0.2.
        speed_limit: speed limit of all lanes, m/s.

    Raises:
        BadFile: see ``sources`` and the readers.
        ValueError: the stride or speed limit is invalid, the split exists, or all recordings are too short.
    """
    steps = round(stride / STEP)
    if steps < 1 or abs(steps * STEP - stride) > 1e-9:
        raise ValueError(f"stride is {stride:g} s; a multiple of {STEP:g} s is needed, 0.2 at least")
    if not 0 < speed_limit < 100:
        raise ValueError(f"speed limit is {speed_limit:g} m/s; above 0 and below 100 is needed")
    every = sources(paths)
    written: list[Path] = []
    with Writer(out, split) as writer:
        for done, source in enumerate(every):
            if progress is not None:
                progress(done / len(every), source.path.name)
            recording = source.read(source.path, speed_limit)
            extra = {"source": "argoverse2"} | ({"city": recording.city} if recording.city else {})
            written += [writer.add(scene, extra=extra) for scene in scenes(recording.every_second(), steps)]
    if not written:
        raise ValueError(f"no recording below {', '.join(map(str, paths))} has the 10 s of a scene")
    provenance.write(out, f"{DESCRIPTION}, a scene every {stride:g} s", LICENCE)
    if progress is not None:
        progress(1.0, split)
    return written
