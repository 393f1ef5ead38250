"""``demur monitor export``: decided units and labels of the ledgers as files that ``demur monitor replay`` reads."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from click import Choice, option
from sqlalchemy.exc import SQLAlchemyError

from models.evaluation.files import need
from models.live.stream import SOURCES
from models.live.units import BLIND
from services.cli.options import Options, command, json_option
from services.cli.output import CommandError, ProgressLine, print_json
from services.monitor.export import ExportFilter, Table, export
from services.monitor.follow import Follower
from services.monitor.setup import followed
from services.runtime.settings import Settings
from services.runtime.streaming_output import complete

_ROWS = 100_000
_NAMES = {"events": "units", "labels": "labels", "opinions": "opinions"}


@command("export", example="demur monitor export --events events.csv --labels labels.csv --head power")
@option("--events", required=True, type=Path, metavar="FILE", help="CSV or Parquet file for decided units.")
@option("--labels", required=True, type=Path, metavar="FILE", help="CSV or Parquet file for labels.")
@option("--opinions", type=Path, metavar="FILE", help="CSV or Parquet file for second opinions and known units.")
@option("--task", default="", help="Task.  [default: all]")
@option("--head", default="", help="Head.  [default: all; columns task, head and model tell them apart]")
@option("--from", "start", type=float, default=-math.inf, metavar="TIME", help="Start, seconds since 1970.")
@option("--to", "end", type=float, default=math.inf, metavar="TIME", help="End, seconds since 1970.")
@option("--source", type=Choice(SOURCES), default=SOURCES[0], show_default=True, help="Source of the labels.")
@json_option
def export_command(options: Options) -> int:
    """Write decided units and labels of the ledgers to files that `demur monitor replay` reads."""
    line = ProgressLine("exporting")
    settings = Settings.read()
    ledgers = followed(settings)
    if not ledgers:
        raise CommandError("there is no ledger to export from; set DEMUR_HOME, or DEMUR_MONITOR_LEDGERS to its URL")
    selection = ExportFilter(options.task, options.head, options.start, options.end, options.source)
    followers: list[Follower] = []
    try:
        assisted = "compare" if options.source == BLIND else settings.monitor_assisted
        followers += [Follower(ledger.engine(), ledger.fetch, assisted) for ledger in ledgers]
        exported = export(followers, selection, lambda note: line(0.5, note))
    except (SQLAlchemyError, OSError) as error:
        raise CommandError(f"a ledger cannot be read: {error}") from error
    finally:
        for follower in followers:
            follower.close()
    tables = {"events": exported.events, "labels": exported.labels, "opinions": exported.opinions}
    paths = {name: path for name in tables if (path := getattr(options, name)) is not None}
    for name, path in paths.items():
        _write(path, tables[name])
    counts = {name: len(tables[name]["event_id"]) for name in paths}
    line(1.0)
    if options.json:
        print_json(counts | {"files": [str(path) for path in paths.values()]})
    else:
        print(", ".join(f"{counts[name]} {_NAMES[name]} in {path}" for name, path in paths.items()))
    return 0


def _write(path: Path, table: Table) -> None:
    with complete(path) as part:
        if path.suffix == ".parquet":
            arrow = need("pyarrow", "Parquet files")
            need("pyarrow.parquet", "Parquet files").write_table(arrow.table(table), part)
        else:
            with part.open("w", encoding="utf-8") as file:
                file.writelines(_lines(table))


def _lines(table: Table) -> Iterator[str]:
    """Yield CSV with all digits of every number; an empty field is NaN."""
    yield ",".join(table) + "\n"
    rows = len(next(iter(table.values())))
    for start in range(0, rows, _ROWS):
        columns: list[list[Any]] = [values[start : start + _ROWS].tolist() for values in table.values()]
        yield "".join(",".join(map(_text, row)) + "\n" for row in zip(*columns, strict=True))


def _text(value: Any) -> str:
    if isinstance(value, float):
        return "" if math.isnan(value) else repr(value)
    return str(value)
