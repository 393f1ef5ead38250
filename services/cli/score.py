"""``demur score TASK IN OUT``: a CSV file of any length through the running service, in bounded memory."""

from __future__ import annotations

import argparse
import csv
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import demur
from services.cli.csv_rows import IDENTITY, Chunk, chunks
from services.cli.output import CommandError, ProgressLine, print_json
from services.cli.places import announced
from services.cli.replacing import replacing
from services.settings import Settings, address
from services.tasks import TENANTS

EXAMPLE = "demur score vessel data/vessel/eval_out.csv scored.csv"
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
    target = given.target or (running.grpc if running else address(settings.host, settings.ports[1]))
    line = ProgressLine(f"scoring {given.input.name}")
    counts = {"rows": 0, "deferred": 0, "shifted": 0}
    try:
        with ExitStack() as stack:
            client = stack.enter_context(demur.connect(target))
            service = getattr(client, given.task)
            names = [feature.name for feature in service.describe().features]
            source = stack.enter_context(given.input.open("rb"))
            size = given.input.stat().st_size or 1
            writer = csv.writer(stack.enter_context(replacing(given.output, given.input)))
            sent: deque[Chunk] = deque()
            writer.writerow([IDENTITY, *OUTPUTS, "deferred", "shifted", "prediction_id"])
            for answer in service.stream(_tables(chunks(source, names), sent), purpose=given.purpose):
                ids = sent.popleft().ids
                columns = [getattr(answer, name) for name in OUTPUTS]
                shown = [["" for _ in ids] if column is None else column.tolist() for column in columns]
                flags = answer.deferred.astype(int).tolist(), answer.shifted.astype(int).tolist()
                writer.writerows(zip(ids, *shown, *flags, answer.prediction_ids, strict=True))
                counts["rows"] += len(answer)
                counts["deferred"] += int(answer.deferred.sum())
                counts["shifted"] += int(answer.shifted.sum())
                line(min(source.tell() / size, 0.999))
    except demur.InvalidInput as error:
        raise CommandError(f"{_in_file(error, counts['rows'])} (after {counts['rows']} rows)") from error
    except (demur.DemurError, OSError, ValueError) as error:
        raise CommandError(f"{error} (after {counts['rows']} rows)") from error
    line(1.0)
    if given.json:
        print_json(counts)
    else:
        print(f"{counts['rows']} rows, {counts['deferred']} deferred, {counts['shifted']} shifted → {given.output}")
    return 0


def _tables(read: Iterable[Chunk], sent: deque[Chunk]) -> Iterator[Any]:
    """What is sent, float32 [n, F]; what is in flight waits in ``sent`` for its answer."""
    for chunk in read:
        sent.append(chunk)
        yield chunk.table


def _in_file(error: demur.InvalidInput, answered: int) -> str:
    """The refusal, with the row of the file: the service counts rows within a chunk, and answers chunks in order, so
    that the refused one is the next after the rows that were answered."""
    if error.index is None:
        return str(error)
    return f"row {answered + error.index} (from 0): " + str(error).replace(f" in row {error.index}", "", 1)
