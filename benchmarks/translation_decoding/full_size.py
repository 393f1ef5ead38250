"""Child process of ``released``: writes graphs of the released size, or runs them, each in a process of its own.

python -m benchmarks.translation_decoding.full_size write int8 FOLDER
python -m benchmarks.translation_decoding.full_size run int8 FOLDER cpu
"""

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import numpy as np
import psutil

from benchmarks.harness import Figure
from benchmarks.processes import forget_peak, last_line, memory_mib
from benchmarks.translation_decoding.ensembles import BEAM, drawn, loaded, write
from models.executors.device import Device
from models.profile import Provider
from models.tasks.translation.inference.decoding.beams import Rules
from models.tasks.translation.inference.decoding.decoder import Decoder, Source, search
from models.tasks.translation.networks.settings import READING, RELEASED, STEPPING, Precision, Sizes
from models.tasks.translation.text.tokens import SPECIAL
from models.tasks.translation.text.vocabulary import END

SOURCE, SAID = 25, 28
"""Tokens of a sentence and of its hypotheses, which are cut there, since random weights set no length."""
TOGETHER = 16
_TIMES = 5


def measured(folder: Path, provider: Provider, sizes: Sizes = RELEASED, times: int = _TIMES) -> dict[str, float]:
    """Return seconds a sentence, ``alone`` and ``together``; MiB resident when graphs are ``loaded``, at the ``peak``
    of searches and that of ``loading``; bytes of the graphs (``reading``, ``stepping``); ``tokens`` of a hypothesis. On
    the CPU time is the thread's, on a GPU wall-clock time.
    """
    decoder = loaded(folder, Rules(beam=BEAM, longest=SAID), Device(provider=provider))
    resident, loading = memory_mib("VmRSS"), memory_mib("VmHWM")
    clock = time.thread_time if provider == "cpu" else time.perf_counter
    draw = np.random.default_rng(0)
    figures: dict[str, float] = {}
    forget_peak()
    for name, count in (("alone", 1), ("together", TOGETHER)):
        took = []
        for _ in range(times + 1):
            sources = [
                Source(number, [*draw.integers(SPECIAL, sizes.source, SOURCE - 1).tolist(), END])
                for number in range(count)
            ]
            start = clock()
            figures["tokens"] = _tokens(decoder, sources)
            took.append((clock() - start) / count)
        figures[name] = float(np.median(took[1:]))  # the first one allocates
    return figures | {
        "loaded": resident,
        "loading": loading,
        "peak": memory_mib("VmHWM"),
        "reading": float((folder / READING).stat().st_size),
        "stepping": float((folder / STEPPING).stat().st_size),
    }


def _tokens(decoder: Decoder, sources: list[Source]) -> float:
    return float(np.mean([len(hypotheses[0].tokens) for _, hypotheses in search(decoder, sources, width=len(sources))]))


def main(what: str, precision: Precision, folder: str, provider: Any = "cpu") -> None:
    if what == "write":
        members = drawn(RELEASED)
        write(members.weights, members.sizes, Path(folder), precision)
        return
    if provider not in get_args(Provider):
        raise ValueError(f"provider {provider!r} is unknown; use one of {', '.join(get_args(Provider))}")
    sys.stdout.write(f"{json.dumps(measured(Path(folder), provider))}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])  # type: ignore[arg-type]


AT_MOST_GPU = 800.0  # ms a sentence
NEEDED_GIB = {"int8": 8, "fp16": 10, "fp32": 14}
"""Free memory needed to write and load the graphs."""
_PRECISIONS: dict[Provider, tuple[Precision, ...]] = {"cpu": ("int8", "fp32"), "cuda": ("fp16", "fp32")}
_GIB = 1 << 30
_CHILD = "benchmarks.translation_decoding.full_size"


def measure(folder: Path, provider: Provider, bandwidth: float | None) -> Iterator[Figure]:
    """Measure each precision that fits into the memory that is free now.

    Args:
        bandwidth: rate of the memory that holds weights, GB/s: for the least time in which a step can read them.
    """
    alone: dict[Precision, float] = {}
    for precision in _PRECISIONS[provider]:
        part = f"released size: {precision} on {provider}, {SOURCE} tokens in, {SAID} out, beam 5"
        free = psutil.virtual_memory().available / _GIB
        if free < NEEDED_GIB[precision]:
            yield Figure(part, "NOT MEASURED: free memory", free, "GiB", note=f"{NEEDED_GIB[precision]} are needed")
            continue
        last_line(_CHILD, "write", precision, str(folder))
        figures = json.loads(last_line(_CHILD, "run", precision, str(folder), provider))
        for name in (READING, STEPPING):
            (folder / name).unlink()
        alone[precision] = figures["alone"]
        most = AT_MOST_GPU if provider == "cuda" else None
        yield Figure(part, "a sentence alone", figures["alone"] * 1e3, "ms p50", at_most=most)
        yield Figure(part, f"a sentence of {TOGETHER} side by side", figures["together"] * 1e3, "ms p50", at_most=most)
        if bandwidth:
            floor = (figures["reading"] + figures["stepping"] * figures["tokens"]) / (bandwidth * 1e9)
            note = f"{floor * 1e3:.0f} ms at {bandwidth:g} GB/s"
            yield Figure(part, "alone over reading all weights at each step", figures["alone"] / floor, "x", note=note)
        graphs = f"graphs {(figures['reading'] + figures['stepping']) / (1 << 20):,.0f} MiB"
        yield Figure(part, "resident with graphs loaded", figures["loaded"], "MiB", note=graphs)
        yield Figure(
            part, "peak while searching", figures["peak"], "MiB", note=f"loading: {figures['loading']:,.0f} MiB"
        )
    if {"int8", "fp32"} <= alone.keys():
        yield Figure("released size", "fp32 over int8, a sentence alone", alone["fp32"] / alone["int8"], "x")
