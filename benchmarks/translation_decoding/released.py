"""Ensembles of the released size: how long a sentence takes, and in how much memory. Weights are random: three members
with tables of 40,000 tokens, 1024 wide, 6 layers each side."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil

from benchmarks.figures import Figure
from benchmarks.translation_decoding.full_size import SAID, SOURCE, TOGETHER
from models.profile import Provider
from models.tasks.translation.artefact.graph_names import READING, STEPPING
from models.tasks.translation.networks.settings import Precision

AT_MOST_GPU = 800.0  # ms a sentence
NEEDED_GIB = {"int8": 8, "fp16": 10, "fp32": 14}
"""Free memory for writing and loading the graphs."""
_PRECISIONS: dict[Provider, tuple[Precision, ...]] = {"cpu": ("int8", "fp32"), "cuda": ("fp16", "fp32")}
_GIB = 1 << 30


def measure(folder: Path, provider: Provider, bandwidth: float | None) -> Iterator[Figure]:
    """Of each precision that fits into the memory that is free now.

    Args:
        bandwidth: of the memory that holds weights, GB/s: for the least time in which a step can read them.
    """
    alone: dict[Precision, float] = {}
    for precision in _PRECISIONS[provider]:
        part = f"released size: {precision} on {provider}, {SOURCE} tokens in, {SAID} out, beam 5"
        free = psutil.virtual_memory().available / _GIB
        if free < NEEDED_GIB[precision]:
            yield Figure(part, "NOT MEASURED: free memory", free, "GiB", note=f"{NEEDED_GIB[precision]} are needed")
            continue
        _child("write", precision, folder)
        found = json.loads(_child("run", precision, folder, provider).splitlines()[-1])
        for name in (READING, STEPPING):
            (folder / name).unlink()
        alone[precision] = found["alone"]
        most = AT_MOST_GPU if provider == "cuda" else None
        yield Figure(part, "a sentence alone", found["alone"] * 1e3, "ms p50", at_most=most)
        yield Figure(part, f"a sentence of {TOGETHER} side by side", found["together"] * 1e3, "ms p50", at_most=most)
        if bandwidth:
            floor = (found["reading"] + found["stepping"] * found["tokens"]) / (bandwidth * 1e9)
            note = f"{floor * 1e3:.0f} ms at {bandwidth:g} GB/s"
            yield Figure(part, "alone over reading all weights at each step", found["alone"] / floor, "x", note=note)
        graphs = f"graphs {(found['reading'] + found['stepping']) / (1 << 20):,.0f} MiB"
        yield Figure(part, "resident with graphs loaded", found["loaded"], "MiB", note=graphs)
        yield Figure(part, "peak while searching", found["peak"], "MiB", note=f"loading: {found['loading']:,.0f} MiB")
    if {"int8", "fp32"} <= alone.keys():
        yield Figure("released size", "fp32 over int8, a sentence alone", alone["fp32"] / alone["int8"], "x")


def _child(what: str, precision: Precision, folder: Path, *more: str) -> str:
    command = [sys.executable, "-m", "benchmarks.translation_decoding.full_size", what, precision, str(folder), *more]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command[2:])} failed: {done.stderr[-2000:]}")
    return done.stdout
