"""``demur monitor export``: decided units and labels of the ledgers as files that ``demur monitor replay`` reads."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sqlalchemy.exc import SQLAlchemyError

from models.evaluation.files import need
from models.live.stream import SOURCES
from services.cli.output import CommandError, ProgressLine, print_json
from services.monitor.export import ExportFilter, Table, export
from services.monitor.follow import Follower
from services.monitor.setup import followed
from services.runtime.settings import Settings

EXAMPLE = "demur monitor export --events events.csv --labels labels.csv --head power"
_ROWS = 100_000


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--events", required=True, type=Path, metavar="FILE", help="CSV or Parquet that is written")
    parser.add_argument("--labels", required=True, type=Path, metavar="FILE", help="CSV or Parquet that is written")
    parser.add_argument("--task", default="", help="default: all")
    parser.add_argument("--head", default="", help="default: all; they are told apart by the columns task, head, model")
    parser.add_argument(
        "--from", type=float, default=-math.inf, dest="start", metavar="TIME", help="seconds since 1970"
    )
    parser.add_argument("--to", type=float, default=math.inf, dest="end", metavar="TIME", help="seconds since 1970")
    parser.add_argument("--source", choices=SOURCES, default=SOURCES[0], help="of the labels; default: requested")
    parser.add_argument("--json", action="store_true", help="print a JSON document")


def run(given: argparse.Namespace) -> int:
    """Writes both files, each whole or not at all."""
    line = ProgressLine("exporting")
    ledgers = followed(Settings.read())
    if not ledgers:
        raise CommandError("there is no ledger to export from; set DEMUR_HOME, or DEMUR_MONITOR_LEDGERS to its URL")
    selected = ExportFilter(given.task, given.head, given.start, given.end, given.source)
    followers: list[Follower] = []
    try:
        followers += [Follower(ledger.engine(), ledger.fetch) for ledger in ledgers]
        events, labels = export(followers, selected, lambda note: line(0.5, note))
    except (SQLAlchemyError, OSError) as error:
        raise CommandError(f"a ledger cannot be read: {error}") from error
    finally:
        for follower in followers:
            follower.close()
    counts = {"events": len(events["event_id"]), "labels": len(labels["event_id"])}
    for path, table in ((given.events, events), (given.labels, labels)):
        _write(path, table)
    line(1.0)
    if given.json:
        print_json(counts | {"files": [str(given.events), str(given.labels)]})
    else:
        print(f"{counts['events']} units in {given.events}, {counts['labels']} labels in {given.labels}")
    return 0


def _write(path: Path, table: Table) -> None:
    part = path.with_name(f"{path.name}.part")
    try:
        if path.suffix == ".parquet":
            arrow = need("pyarrow", "Parquet files")
            need("pyarrow.parquet", "Parquet files").write_table(arrow.table(table), part)
        else:
            with part.open("w", encoding="utf-8") as file:
                for text in _lines(table):
                    file.write(text)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _lines(table: Table) -> Iterator[str]:
    """CSV with all digits of every number; an empty field is NaN."""
    yield ",".join(table) + "\n"
    rows = len(next(iter(table.values())))
    for start in range(0, rows, _ROWS):
        columns: list[list[Any]] = [values[start : start + _ROWS].tolist() for values in table.values()]
        yield "".join(",".join(map(_text, row)) + "\n" for row in zip(*columns, strict=True))


def _text(value: Any) -> str:
    if isinstance(value, float):
        return "" if math.isnan(value) else repr(value)
    return str(value)
