"""``demur monitor``: live retention, from the ledgers or from a stream that was logged."""

from __future__ import annotations

import argparse
import importlib

EXAMPLE = "demur monitor replay --events events.csv --labels labels.csv --acceptable 1 --json"
DEFAULT = "run"

ACTIONS = {
    "run": "follow the ledgers and serve what is known of them (the default)",
    "export": "write decided units and labels of a ledger to files, as replay reads them",
    "replay": "judge a logged stream: what deferring costs and saves, from the labels that came",
}


def arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    parser.set_defaults(act=None)
    for name, text in ACTIONS.items():
        action = actions.add_parser(
            name, help=text, description=text, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        module = importlib.import_module(f"services.cli.monitor_{name}")
        action.epilog = f"example: {module.EXAMPLE}"
        module.arguments(action)
        action.set_defaults(act=module.run)


def run(given: argparse.Namespace) -> int:
    """Runs one action; without a word, the live monitor."""
    act = given.act or importlib.import_module(f"services.cli.monitor_{DEFAULT}").run
    code: int = act(given)
    return code
