"""Speed of the simulators, for their data sheets.

    python -m benchmarks.simulators [TASK ...]

Prints seconds of processor time, so that other processes of the machine matter little; run it on one thread
(OMP_NUM_THREADS=1). Takes two minutes.
"""

import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np

from benchmarks import harness

ROWS = 1_000_000
WEATHER_SCALE = 0.02
MOTION_SCALE = 0.005
SEED = 0

Result = TypeVar("Result")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = harness.parser("simulators", __doc__)
    parser.add_argument("tasks", nargs="*", metavar="TASK", help=f"default: {', '.join(MEASURES)}")
    options = parser.parse_args(arguments)
    if unknown := set(options.tasks) - set(MEASURES):
        parser.error(f"TASK = {', '.join(sorted(unknown))}: must be of {', '.join(MEASURES)}")
    for task in options.tasks or MEASURES:
        for line in MEASURES[task]():
            sys.stdout.write(f"{task}: {line}\n")
            sys.stdout.flush()
    harness.announce()
    return 0


def timed(call: Callable[[], Result]) -> tuple[Result, float]:
    """Return what a call returns, and the seconds of processor time that it took."""
    start = time.process_time()
    result = call()
    return result, time.process_time() - start


def vessel() -> Iterator[str]:
    from simulators.vessel.dataset import generalisation, simulate
    from simulators.vessel.vessel import Vessel

    few = generalisation(ROWS // 10, SEED).features
    rows = np.tile(few, (10, 1))
    _, seconds = timed(lambda: Vessel().shaft_power(rows))
    yield f"power of {len(rows)} rows {seconds:.1f} s"
    splits, seconds = timed(lambda: simulate(1.0, SEED))
    yield f"canonical partition of {sum(map(len, splits.values()))} rows {seconds:.1f} s"


def weather() -> Iterator[str]:
    from models.tasks.weather.data.official import write
    from simulators.weather.dataset import simulate

    splits, seconds = timed(lambda: simulate(WEATHER_SCALE, SEED))
    rows = sum(map(len, splits.values()))
    yield f"{rows} rows, {1e6 * seconds / rows:.1f} µs a row"
    table = splits["eval_in"]
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder) / "first.csv", [table.rows(slice(0, 1))])  # imports pyarrow
        _, seconds = timed(lambda: write(Path(folder) / "eval_in.csv", [table]))
    yield f"as CSV {1e6 * seconds / len(table):.1f} µs a row"


def lesion() -> Iterator[str]:
    from simulators.lesion import scan, template
    from simulators.lesion.cohort import Entry
    from simulators.lesion.sites import SITES

    brain, seconds = timed(template.load)
    yield f"maps {seconds:.1f} s"
    taken = []
    for site, parts in SITES.items():
        rng = Entry(site, "train", 0).rng(SEED)
        _, seconds = timed(lambda rng=rng, parts=parts: scan.draw(rng, brain, parts))  # type: ignore[misc]
        taken.append(seconds)
    yield f"a scan {min(taken):.1f} to {max(taken):.1f} s ({len(taken)} scans, a site each, without writing them)"


def motion() -> Iterator[str]:
    from simulators.motion.dataset import simulate

    with tempfile.TemporaryDirectory() as folder:
        scenes, seconds = timed(lambda: simulate(Path(folder) / "data", MOTION_SCALE, SEED))
        size = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
    each = f"{seconds / len(scenes):.2f} s and {size / 1e6 / len(scenes):.2f} MB a scene with its maps"
    yield f"{len(scenes)} scenes, {each}"


MEASURES: dict[str, Callable[[], Iterator[str]]] = {
    "vessel": vessel,
    "weather": weather,
    "lesion": lesion,
    "motion": motion,
}


if __name__ == "__main__":
    sys.exit(main())
