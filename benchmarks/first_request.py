"""First request after a service is ready, against the median of later ones: a check of the warm-up.

    python -m benchmarks.first_request [--tasks vessel weather ...] [--repeats 15] [--starts 3]

Each kind of request is sent to processes of its own, through the pipeline, as the first one after warm-up.
Times are processor seconds of the whole process, which do not depend on other load of the machine.
"""

import asyncio
import gc
import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from prometheus_client import CollectorRegistry

from benchmarks import harness, inputs, markdown
from benchmarks.processes import last_line
from models import artefact
from services.app.assembly import assemble
from services.app.reference import folder
from services.request.contract import Call
from services.request.metrics import Metrics
from services.runtime.settings import Settings
from services.tasks import DEFAULT_MODELS

KINDS = {
    "vessel": ("1", "7", "64", "1024", "5000"),
    "weather": ("1", "7", "64", "1024", "5000"),
    "translation": ("1", "3", "8"),
    "motion": ("1", "4", "16"),
    "lesion": ("1",),
}
"""Sizes of requests by task: rows, sentences, maps or scans."""
_PAUSE = 0.05
"""Pause between requests, s; without it, data stays in the processor's caches, unlike between requests of callers."""
_TEXTS = (
    "The old bridge was closed for repairs last winter.",
    "Nobody knows where the letters went, and nobody asks.",
    "She bought three apples, two pears and a loaf of bread at the market.",
    "It rains.",
    "Our train leaves at half past seven from the second platform.",
    "The committee will meet again when the report has been read by everybody concerned.",
    "He painted the fence green.",
    "Where is the nearest hospital?",
)


def requests(task: str, source: artefact.Artefact, size: int) -> Any:
    """Return a request of ``size`` units."""
    if task in ("vessel", "weather"):
        from services.request.row_task import Packed, RowsRequest

        return RowsRequest(Packed(size, inputs.rows(source, size).astype("<f4").tobytes()))
    if task == "translation":
        from services.tasks.translation.request import TranslationRequest

        return TranslationRequest(tuple(_TEXTS[n % len(_TEXTS)] for n in range(size)))
    if task == "motion":
        from models.tasks.motion.artefact import recipe
        from models.tasks.motion.inference.members import MAPS, enlarged
        from services.tasks.motion.request import MotionRequest, TensorForm

        with np.load(source.path(source.manifest.golden)) as recorded:
            maps = enlarged(recorded[MAPS], recipe.read(source).grid)
        return MotionRequest(TensorForm(np.resize(maps, (size, *maps.shape[1:])).astype("<f4").tobytes()))
    import nibabel as nib

    from services.tasks.lesion.request import ScanRequest

    draw = np.random.default_rng(0)
    place = np.indices((96, 96, 96)) - 48
    brain = ((place**2).sum(axis=0) < 40**2) * (100 + 10 * draw.standard_normal((96, 96, 96)))
    image = nib.Nifti1Image(brain.astype(np.float32), np.eye(4)).to_bytes()
    return ScanRequest(image)


async def measured(task: str, size: int, repeats: int, examples: bool) -> dict[str, float]:
    """Return processor seconds of the first request, and of the median and the largest of later ones."""
    source = artefact.read(folder(DEFAULT_MODELS[task]), task)
    settings = Settings.read({"DEMUR_LEDGER": "none", "DEMUR_LANES": "1"}, task=task)
    assembled = assemble(source, settings, Metrics(task, CollectorRegistry()))
    began = time.process_time()
    assembled.tenant.warm_up()
    if examples:
        await assembled.warm()
    warm = time.process_time() - began
    request = requests(task, source, size)
    gc.collect()
    gc.freeze()  # as a process does before it is ready
    times = []
    for _ in range(repeats + 1):
        await asyncio.sleep(_PAUSE)
        start = time.process_time()
        await assembled.tenant.pipeline.answer(request, Call())
        times.append(time.process_time() - start)
    assembled.close()
    return {"first": times[0], "median": float(np.median(times[1:])), "warm_up": warm}


def main() -> None:
    """Print a row for each task and size: the median over starts of first/median, and its range."""
    parser = harness.parser("first_request", __doc__)
    parser.add_argument("--tasks", nargs="+", default=[*KINDS], choices=[*KINDS])
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--starts", type=int, default=3)
    parser.add_argument("--unwarmed", action="store_true", help="without the examples, for comparison")
    parser.add_argument("--child", nargs=2)
    options = parser.parse_args()
    tell: Callable[[str], object] = sys.stdout.write
    if options.child:
        task, size = options.child
        tell(json.dumps(asyncio.run(measured(task, int(size), options.repeats, not options.unwarmed))) + "\n")
        return
    heads = ("task", "size", "first, ms", "median, ms", "first / median", "range", "warm-up, s")
    tell(f"{markdown.head(heads)}\n")
    for task in options.tasks:
        for size in KINDS[task]:
            command = ["--child", task, size, "--repeats", str(options.repeats)]
            command += ["--unwarmed"] * options.unwarmed
            starts = [json.loads(last_line("benchmarks.first_request", *command)) for _ in range(options.starts)]
            ratios = [timing["first"] / timing["median"] for timing in starts]
            first, median, warm = (float(np.median([timing[name] for timing in starts])) for name in starts[0])
            times = (f"{1e3 * first:.2f}", f"{1e3 * median:.2f}", f"{np.median(ratios):.2f}")
            cells = (task, size, *times, f"{min(ratios):.2f} to {max(ratios):.2f}", f"{warm:.1f}")
            tell(f"{markdown.row(cells)}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
