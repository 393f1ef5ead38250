"""Replay sets for the reference artefacts of each task: shared inputs, and the scores of each artefact.

    python -m studies.replay_sets [TASK ...] [--artefacts DIR]

Inputs are simulated, or for translation composed, from fixed seeds; scores are computed on this CPU by the serving
code. Existing sets are replaced; graphs, calibration, golden rows and figures stay as they are. The command prints the
time of a set at each batch size.
"""

import json
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from models import artefact, replay
from models.artefact import MANIFEST, Artefact
from studies import pages, replay_sentences

SEED = 0
VESSEL_SCALE, WEATHER_SCALE = 0.2, 0.04
MOTION_SCENES = {("dev", "Moscow"): 100, ("dev", "Skolkovo"): 16, ("dev", "Innopolis"): 16, ("dev", "Modiin"): 16}
"""Number of simulated scenes by split and city, with ``MOTION_REQUESTS`` requests each."""
MOTION_REQUESTS = 4
LESION_SCANS = {("site_a", "dev_in"): 3, ("site_b", "dev_in"): 3, ("site_c", "dev_in"): 3, ("site_d", "dev_in"): 2}
LESION_SHIFTED = {("site_e", "dev_out"): 3, ("site_f", "eval_out"): 2}


def main() -> None:
    parser = pages.parser("replay_sets", __doc__)
    parser.add_argument("tasks", nargs="*", metavar="TASK", help=f"of {', '.join(INPUTS)}; default all")
    parser.add_argument("--artefacts", type=Path, default=pages.ARTEFACTS)
    parser.add_argument("--no-timing", action="store_true", help="do not score the sets at other batch sizes")
    options = parser.parse_args()
    if unknown := [task for task in options.tasks if task not in INPUTS]:
        parser.error(f"{unknown[0]!r} is none of {', '.join(INPUTS)}")
    for task in options.tasks or INPUTS:
        add(task, options.artefacts / task, timed=not options.no_timing)


def add(task: str, folder: Path, *, timed: bool = False) -> list[Artefact]:
    """Give all artefacts of a task's folder the same inputs, and remove inputs that none of them uses any more."""
    start = time.perf_counter()
    content, source = INPUTS[task]()
    _say(f"{task}: inputs of {len(content) / 1e6:.2f} MB in {time.perf_counter() - start:.0f} s")
    added = []
    for place in sorted(path.parent for path in folder.glob(f"*/{MANIFEST}")):
        start = time.perf_counter()
        shared = artefact.share(replay.attach(artefact.read(place, task), content, source))
        _say(f"{shared.tag}: {_units(shared)} units in {time.perf_counter() - start:.0f} s")
        if timed:
            _time(shared)
        added.append(shared)
    tidy(folder)
    return added


def tidy(folder: Path) -> None:
    """Remove shared inputs of a task's folder that no manifest names."""
    manifests = [json.loads(path.read_bytes()) for path in folder.glob(f"*/{MANIFEST}")]
    named = {name for manifest in manifests for name in manifest["files"]}
    for path in folder.glob("replay-*.npz"):
        if path.name not in named:
            path.unlink()


def _time(model: Artefact) -> None:
    """Print the time at each batch size, and the difference of its scores from the reference."""
    opened = replay.replayer(model)
    expected = replay.reference(model)
    for batch in replay.batches(opened):
        start, begun = time.perf_counter(), time.process_time()
        scores = opened(0, opened.units, batch)
        seconds, computed = time.perf_counter() - start, time.process_time() - begun
        apart = {
            f"{head}.{name}": float(np.max(np.abs(values - expected[head][name])) / np.std(expected[head][name]))
            for head, by_name in scores.items()
            for name, values in by_name.items()
        }
        worst = max(apart, key=lambda name: apart[name])
        _say(
            f"  batch {batch}: {seconds:.1f} s, {computed:.1f} s of a core; largest difference {apart[worst]:.1e} "
            f"standard deviations, {worst}"
        )


def _units(model: Artefact) -> int:
    return 0 if model.manifest.replay is None else model.manifest.replay.units


def _vessel() -> tuple[bytes, str]:
    from models.tasks.vessel.artefact import replay_set
    from simulators.vessel.dataset import simulate

    data = simulate(VESSEL_SCALE, SEED)
    content = replay_set.encode(data["dev_in"].features, data["dev_out"].features)
    return content, _simulated("vessel", "dev_in and dev_out", "CC0-1.0")


def _weather() -> tuple[bytes, str]:
    from models.rows import replay_set
    from simulators.weather.dataset import simulate

    data = simulate(WEATHER_SCALE, SEED)
    content = replay_set.encode(data["dev_in"].features, data["dev_out"].features)
    return content, _simulated("weather", "dev_in and dev_out", "CC0-1.0")


def _motion() -> tuple[bytes, str]:
    from models.tasks.motion.artefact import replay_set
    from models.tasks.motion.inference import scenes
    from models.tasks.motion.inference.grid import OFFICIAL
    from models.tasks.motion.inference.render.renderer import Renderer
    from simulators.motion.dataset import LICENCE, Entry, Job, make

    maps = []
    for (split, city), count in MOTION_SCENES.items():
        for index in range(count):
            scene = scenes.parse(make(Job(Entry(split, city, index), SEED, MOTION_REQUESTS, rendered=False)).scene)
            renderer = Renderer(scene, OFFICIAL)
            maps += [renderer.draw(scenes.agent(scene, track)) for track in scenes.requested(scene)]
    order = replay.shuffled(len(maps))
    content = replay_set.packed([maps[at] for at in order.tolist()])
    return content, _simulated("motion", "dev, a third of them shifted cities", LICENCE)


def _lesion() -> tuple[bytes, str]:
    from models.tasks.lesion.artefact import replay_set
    from models.tasks.lesion.artefact.recipe import Recipe
    from models.tasks.lesion.data import official
    from simulators.lesion import scan, template
    from simulators.lesion.cohort import Entry
    from simulators.lesion.dataset import LICENCE, NAMES, write
    from simulators.lesion.sites import SITES

    brain = template.load()
    with tempfile.TemporaryDirectory() as scratch:
        for (site, split), count in (LESION_SCANS | LESION_SHIFTED).items():
            for index in range(count):
                entry = Entry(site, split, index)
                drawn = scan.draw(entry.rng(SEED), brain, SITES[site])
                volumes = {"flair": drawn.flair, "t1": drawn.t1, "gt": drawn.truth, "fg_mask": drawn.brain}
                folder = Path(scratch) / site / split
                for kind, volume in volumes.items():
                    write(folder / kind / NAMES[kind].format(id=entry.id), volume)
        known = official.cases(Path(scratch))
        inside = {site for site, _ in LESION_SCANS}
        parts: tuple[list[official.Case], list[official.Case]] = ([], [])
        for case in known:
            parts[not any(site in case.flair.parts for site in inside)].append(case)
        content = replay_set.chosen(*parts, Recipe().channels, Recipe().window)
    return content, _simulated("lesion", "scans of six sites, two of them shifted", LICENCE)


def _translation() -> tuple[bytes, str]:
    from models.tasks.translation.artefact import replay_set

    plain, shifted = replay_sentences.plain(), replay_sentences.shifted()
    return replay_set.encode(plain, shifted), replay_sentences.SOURCE


def _simulated(task: str, what: str, licence: str) -> str:
    return f"simulated by models/tasks/{task}/simulator of Demur, seed {SEED}: {what}; licence {licence}"


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


INPUTS: Mapping[str, Callable[[], tuple[bytes, str]]] = {
    "vessel": _vessel,
    "weather": _weather,
    "motion": _motion,
    "lesion": _lesion,
    "translation": _translation,
}
"""Function by task that returns a file of inputs and a description of their source."""


if __name__ == "__main__":
    main()
