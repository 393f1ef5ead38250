"""Writer of simulated scenes in the official layout, with tags and rendered maps."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from models import provenance
from models.tasks.motion.data.folders import SPLITS
from models.tasks.motion.data.processes import workers
from models.tasks.motion.data.writer import Writer
from models.tasks.motion.inference import maps, scenes
from models.tasks.motion.inference.grid import OFFICIAL
from models.tasks.motion.inference.render.renderer import Renderer
from models.tasks.motion.protocol import motion_pb2
from models.workbench import Progress
from simulators.motion import circumstances, scene
from simulators.motion.cities import CITIES

SIMULATOR = "simulated by simulators/motion of Demur"
LICENCE = "CC0-1.0"
MOST_REQUESTS = 10
"""Default of the largest number of requests per scene; thinned at random if more vehicles are seen."""

CANONICAL: Mapping[str, Mapping[str, int]] = {
    "train": {"Moscow": 2500},
    "dev": {"Moscow": 300, "Skolkovo": 100, "Innopolis": 100, "Modiin": 100},
    "eval": {"Moscow": 300, "AnnArbor": 150, "TelAviv": 150},
}
"""Number of scenes by split and city at scale 1; their weather is such that the canonical filters keep all of them."""


@dataclass(frozen=True, slots=True)
class Entry:
    """Identity of one scene to be simulated."""

    split: str
    city: str
    index: int
    extra: bool = False
    """True for a scene beside the canonical ones, which may have any weather of the city."""

    @property
    def id(self) -> str:
        """Name of the scene's file; sorted files are ordered by city and index."""
        return f"{self.split}_{'extra_' if self.extra else ''}{self.city.lower()}_{self.index:06d}"

    def rng(self, seed: int) -> np.random.Generator:
        """Return the generator of this scene alone, so that the scene is the same in every subset."""
        key = (tuple(SPLITS).index(self.split), tuple(CITIES).index(self.city), int(self.extra), self.index)
        return np.random.default_rng([seed, *key])


@dataclass(frozen=True, slots=True)
class Job:
    """Scene to simulate, with the options of its output."""

    entry: Entry
    seed: int
    requests: int
    rendered: bool


@dataclass(frozen=True, slots=True)
class Made:
    """Serialised scene and the maps of its requests by track, as stored in files."""

    scene: bytes
    maps: Mapping[int, bytes]


def entries(
    scale: float = 1.0,
    cities: Sequence[str] = tuple(CITIES),
    extra: Mapping[tuple[str, str], int] | None = None,
) -> list[Entry]:
    """Return the scenes of all splits, split by split in the order of their names.

    Args:
        scale: factor of the canonical numbers; at least one scene each.
        extra: number of scenes by split and city beside the canonical ones, not scaled; for other partitions.

    Raises:
        ValueError: a scale that is not above 0, an unknown city or split, or a negative number.
    """
    if not 0 < scale < np.inf:
        raise ValueError(f"scale is {scale}; a number above 0 is needed, 1 for the canonical number of scenes")
    extra = extra or {}
    for city in (*cities, *(city for _, city in extra)):
        if city not in CITIES:
            raise ValueError(f"city is {city!r}; the simulated ones are {', '.join(CITIES)}")
    for (split, city), count in extra.items():
        if split not in SPLITS or count < 0:
            raise ValueError(f"{split}:{city}: {count} scenes; numbers from 0 of {', '.join(SPLITS)} are needed")
    drawn = [
        Entry(split, city, index)
        for split, counts in CANONICAL.items()
        for city, count in counts.items()
        if city in cities
        for index in range(max(1, round(scale * count)))
    ]
    drawn += [Entry(split, city, index, True) for (split, city), count in extra.items() for index in range(count)]
    return sorted(drawn, key=lambda entry: (tuple(SPLITS).index(entry.split), entry.id))


def make(job: Job) -> Made:
    """Simulate a scene and render its requests; equal jobs make equal scenes."""
    rng, city = job.entry.rng(job.seed), CITIES[job.entry.city]
    precipitation = circumstances.precipitation(rng, city, canonical=not job.entry.extra)
    content = scene.simulate(rng, city, precipitation, job.entry.id, job.requests).SerializeToString(deterministic=True)
    if not job.rendered:
        return Made(content, {})
    parsed = scenes.parse(content)
    renderer = Renderer(parsed, OFFICIAL)
    tracks = scenes.requested(parsed)
    return Made(content, {track: maps.encode_rendered(renderer.draw(scenes.agent(parsed, track))) for track in tracks})


def simulate(
    root: Path,
    scale: float,
    seed: int,
    cities: Sequence[str] = tuple(CITIES),
    *,
    extra: Mapping[tuple[str, str], int] | None = None,
    requests: int = MOST_REQUESTS,
    rendered: bool = True,
    processes: int = 1,
    progress: Progress | None = None,
) -> list[Path]:
    """Write ``<root>/{train,dev,eval}_pb``, ``_tags.txt`` and ``_rendered`` and return the files of scenes.

    The files do not depend on the number of processes.

    Raises:
        ValueError: as in ``entries``; a split that exists already; fewer than one request or process.
        ChildProcessError: a process died.
    """
    planned = entries(scale, cities, extra)
    if requests < 1 or processes < 1:
        raise ValueError(f"{requests} requests of a scene by {processes} processes; at least one each is needed")
    root.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    for split in dict.fromkeys(entry.split for entry in planned):
        jobs = [Job(entry, seed, requests, rendered) for entry in planned if entry.split == split]
        with Writer(root, split) as writer:
            for job, made in zip(jobs, _made(jobs, processes), strict=True):
                written.append(writer.add(motion_pb2.Scene.FromString(made.scene), made.maps))
                if progress is not None:
                    progress(len(written) / len(planned), job.entry.id)
    provenance.write(root, f"{SIMULATOR}, seed {seed}, scale {scale:g}", LICENCE)
    return written


def _made(jobs: Sequence[Job], processes: int) -> Iterator[Made]:
    """Yield the results in the order of the jobs."""
    if processes == 1:
        yield from map(make, jobs)
        return
    with workers(processes, "simulating") as pool:
        yield from pool.map(make, jobs, chunksize=4)
