"""``demur score TASK IN OUT``: a CSV file of any length through the running service, in bounded memory."""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import demur
from services.cli.output import CommandError, ProgressLine, print_json
from services.cli.places import announced
from services.settings import Settings
from services.tasks import TENANTS

EXAMPLE = "demur score vessel data/vessel/eval_out.csv scored.csv"
CHUNK_ROWS = 4096
OUTPUTS = ("mean", "total", "data", "knowledge", "uncertainty")


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("task", choices=sorted(TENANTS))
    parser.add_argument("input", type=Path, help="CSV with the columns of the task; others are ignored")
    parser.add_argument("output", type=Path, help="CSV: time_id where the input has it, answers, decisions")
    parser.add_argument("--target", help="host:port of the gRPC service; default: where `demur up` runs it")
    parser.add_argument("--purpose", choices=("decide", "explore", "replay"), default="replay")
    parser.add_argument("--json", action="store_true", help="print a JSON document")


def run(given: argparse.Namespace) -> int:
    """Streams the file and counts what was deferred."""
    settings = replace(Settings.read(), task=given.task)
    running = announced(settings.home).get(given.task)
    target = given.target or (running.grpc if running else f"{settings.host}:{settings.ports[1]}")
    line = ProgressLine(f"scoring {given.input.name}")
    counts = {"rows": 0, "deferred": 0, "shifted": 0}
    try:
        with ExitStack() as stack:
            client = stack.enter_context(demur.connect(target))
            service = getattr(client, given.task)
            names = [feature.name for feature in service.describe().features]
            source = stack.enter_context(given.input.open("rb"))
            size = given.input.stat().st_size or 1
            writer = csv.writer(stack.enter_context(given.output.open("w", newline="")))
            ids: list[Any] = []
            batches = _batches(source, names, ids)
            writer.writerow(["time_id", *OUTPUTS, "deferred", "shifted", "prediction_id"])
            for answer in service.stream(batches, purpose=given.purpose):
                columns = [getattr(answer, name) for name in OUTPUTS]
                shown = [["" for _ in ids[0]] if column is None else column.tolist() for column in columns]
                flags = answer.deferred.astype(int).tolist(), answer.shifted.astype(int).tolist()
                writer.writerows(zip(ids.pop(0), *shown, *flags, answer.prediction_ids, strict=True))
                counts["rows"] += len(answer)
                counts["deferred"] += int(answer.deferred.sum())
                counts["shifted"] += int(answer.shifted.sum())
                line(min(source.tell() / size, 0.999))
    except (demur.DemurError, OSError, ValueError) as error:
        raise CommandError(f"{error} (after {counts['rows']} rows)") from error
    line(1.0)
    if given.json:
        print_json(counts)
    else:
        print(f"{counts['rows']} rows, {counts['deferred']} deferred, {counts['shifted']} shifted → {given.output}")
    return 0


def _batches(source: Any, names: list[str], ids: list[Any]) -> Iterator[Any]:
    """Chunks [n, F] of the file; the chunk's row identities are appended to ``ids`` in step."""
    header = next(csv.reader([source.readline().decode()]))
    missing = [name for name in names if name not in header]
    if missing:
        raise ValueError(f"the file has no column {missing[0]!r}; it has {', '.join(header)}")
    wanted = [header.index(name) for name in names]
    identity = header.index("time_id") if "time_id" in header else None
    start = 0
    while lines := source.readlines(CHUNK_ROWS * 96):
        table = np.loadtxt(lines, delimiter=",", usecols=wanted, ndmin=2, dtype=np.float32)
        if identity is None:
            ids.append(range(start, start + len(table)))
        else:
            ids.append(np.loadtxt(lines, delimiter=",", usecols=identity, ndmin=1, dtype=np.int64).tolist())
        start += len(table)
        yield table
