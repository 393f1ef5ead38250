"""``demur monitor``: the live monitor, and the judging of logged streams."""

from __future__ import annotations

import argparse
import importlib

EXAMPLE = "demur monitor run"

SUBCOMMANDS = {
    "run": "follow the ledgers and serve what is known (the default)",
    "export": "write a ledger's events and labels to files",
}


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(subcommand="run")
    commands = parser.add_subparsers(dest="subcommand", metavar="SUBCOMMAND")
    for name, text in SUBCOMMANDS.items():
        module = importlib.import_module(f"services.cli.monitor_{name}")
        module.arguments(commands.add_parser(name, help=text, description=text))


def run(given: argparse.Namespace) -> int:
    """Runs a subcommand."""
    module = importlib.import_module(f"services.cli.monitor_{given.subcommand or 'run'}")
    code: int = module.run(given)
    return code
