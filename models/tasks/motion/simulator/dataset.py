"""Simulated scenes as files in the official layout, with their tags and rendered maps."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from models.tasks.motion import maps, scenes
from models.tasks.motion.grid import OFFICIAL
from models.tasks.motion.protocol import motion_pb2
from models.tasks.motion.render.renderer import Renderer
from models.tasks.motion.simulator import circumstances, drivers, scene
from models.tasks.motion.simulator.cities import CITIES
from models.tasks.motion.simulator.scene import Requested
from models.tasks.motion.writer import Writer, write_provenance
from models.workbench import Progress

SIMULATOR = "simulated by models/tasks/motion/simulator of Demur"
LICENCE = "CC0-1.0"

CANONICAL: Mapping[str, Mapping[str, int]] = {
    "train": {"Moscow": 2500},
    "dev": {"Moscow": 300, "Skolkovo": 100, "Innopolis": 100, "Modiin": 100},
    "eval": {"Moscow": 300, "AnnArbor": 150, "TelAviv": 150},
}
"""Scenes by split and city at scale 1; those of Moscow have no precipitation."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One scene to be simulated."""

    split: str
    city: str
    index: int

    @property
    def id(self) -> str:
        """Names its file; sorted files go by city and index."""
        return f"{self.split}_{self.city.lower()}_{self.index:06d}"

    def rng(self, seed: int) -> np.random.Generator:
        """Of this scene alone, so that it is the same in every subset."""
        return np.random.default_rng(
            [seed, tuple(CANONICAL).index(self.split), tuple(CITIES).index(self.city), self.index]
        )


@dataclass(frozen=True, slots=True)
class Made:
    """A scene and the maps of its requests."""

    scene: bytes
    maps: Mapping[int, bytes]


def entries(scale: float, cities: tuple[str, ...] = tuple(CITIES)) -> list[Entry]:
    """The scenes of all splits.

    Raises:
        ValueError: a scale that is not above 0, or an unknown city.
    """
    if not 0 < scale < np.inf:
        raise ValueError(
            f"scale is {scale}; a number above 0 is needed, 1 for {sum(CANONICAL['train'].values())} scenes"
        )
    for city in cities:
        if city not in CITIES:
            raise ValueError(f"city is {city!r}; the simulated ones are {', '.join(CITIES)}")
    return [
        Entry(split, city, index)
        for split, counts in CANONICAL.items()
        for city, count in counts.items()
        if city in cities
        for index in range(max(1, round(scale * count)))
    ]


def make(entry: Entry, seed: int, requested: Requested, rendered: bool) -> Made:
    """Simulates a scene, and renders its requests."""
    rng = entry.rng(seed)
    city = CITIES[entry.city]
    weather = drivers.NONE if city.name == "Moscow" else circumstances.precipitation(rng, city)
    message = scene.simulate(rng, city, weather, entry.id, requested)
    content = message.SerializeToString(deterministic=True)
    if not rendered:
        return Made(content, {})
    parsed = scenes.parse(content)
    renderer = Renderer(parsed, OFFICIAL)
    found = {
        track: maps.encode_rendered(renderer.draw(scenes.agent(parsed, track))) for track in scenes.requested(parsed)
    }
    return Made(content, found)


def simulate(
    root: Path,
    scale: float,
    seed: int,
    cities: tuple[str, ...] = tuple(CITIES),
    requests: int = 8,
    rendered: bool = True,
    processes: int = 1,
    progress: Progress | None = None,
) -> list[Path]:
    """Writes ``<root>/{train,dev,eval}_pb``, ``_tags.txt`` and ``_rendered``; returns the files of scenes.

    The files do not depend on the number of processes.

    Raises:
        ValueError: as ``entries``, or a split that is there already.
    """
    wanted = entries(scale, cities)
    written: list[Path] = []
    done = 0
    root.mkdir(parents=True, exist_ok=True)
    for split in CANONICAL:
        here = [entry for entry in wanted if entry.split == split]
        if not here:
            continue
        with Writer(root, split) as writer:
            jobs = [(entry, seed, Requested(requests), rendered) for entry in here]
            for entry, made in zip(here, _made(jobs, processes), strict=True):
                written.append(writer.add(motion_pb2.Scene.FromString(made.scene), made.maps))
                done += 1
                if progress is not None:
                    progress(done / len(wanted), entry.id)
    write_provenance(root, f"{SIMULATOR}, seed {seed}, scale {scale:g}", LICENCE)
    return written


def _made(jobs: list[tuple[Entry, int, Requested, bool]], processes: int) -> Iterator[Made]:
    """In the order of the jobs."""
    if processes == 1:
        yield from (make(*job) for job in jobs)
        return
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        yield from pool.imap(_job, jobs, chunksize=4)


def _job(job: tuple[Entry, int, Requested, bool]) -> Made:
    return make(*job)
