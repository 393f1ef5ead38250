"""``demur monitor``: live retention, from a stream that was logged."""

from __future__ import annotations

import argparse
import importlib

EXAMPLE = "demur monitor replay --events events.csv --labels labels.csv --acceptable 1 --json"

ACTIONS = {"replay": "judge a logged stream: what deferring costs and saves, from the labels that came"}


def arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    for name, text in ACTIONS.items():
        action = actions.add_parser(
            name, help=text, description=text, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        module = importlib.import_module(f"services.cli.monitor_{name}")
        action.epilog = f"example: {module.EXAMPLE}"
        module.arguments(action)
        action.set_defaults(act=module.run)


def run(given: argparse.Namespace) -> int:
    """Runs one action."""
    code: int = given.act(given)
    return code
