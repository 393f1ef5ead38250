"""``demur ledger erasures``: which units were erased, for the time after a restore."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from services.cli.ledger_places import add_choice, failures, in_use
from services.cli.output import print_json
from services.ledger.backup import tombstones
from services.runtime.settings import Settings

EXAMPLE = "demur ledger erasures --to erasures.csv"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--since",
        type=float,
        default=0.0,
        metavar="TIME",
        help="of the oldest backup, seconds since 1970; default: ever",
    )
    parser.add_argument("--to", type=Path, metavar="FILE", help="default: standard output")
    add_choice(parser, "all")


def run(given: argparse.Namespace) -> int:
    """Writes ids and times; no more is left of erased units than that, and their numbers."""
    found = []
    with failures():
        for ledger in in_use(Settings.read(), given.ledger):
            engine = ledger.database.reading()
            try:
                with engine.connect() as connection, connection.begin():
                    found += list(tombstones.erased(connection, given.since))
            finally:
                engine.dispose()
        if given.to is not None:
            part = given.to.with_name(f"{given.to.name}.part")
            with part.open("w") as file:
                tombstones.write(found, file)
            part.replace(given.to)
        elif not given.json:
            tombstones.write(found, sys.stdout)
    if given.json:
        print_json({"erased": len(found)})
    return 0
