"""``demur ledger``: backups of what was decided and labelled, and what comes after a disaster."""

from __future__ import annotations

import argparse
import importlib

EXAMPLE = "demur ledger backup --to /backups"

ACTIONS = {
    "backup": "copy the ledgers of this home, or DEMUR_LEDGER, while services write them",
    "verify": "check a backup, or the ledgers in use: hashes, units once, contents that rows name",
    "restore": "make ledgers of their backups where none are",
    "settle": "after a restore by the database's own means: tell readers what is missing",
    "erasures": "list what was erased, to be kept beside backups and given to restore",
}


def arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    for name, text in ACTIONS.items():
        action = actions.add_parser(
            name, help=text, description=text, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        module = importlib.import_module(f"services.cli.ledger_{name}")
        action.epilog = f"example: {module.EXAMPLE}"
        module.arguments(action)
        action.add_argument("--json", action="store_true", help="print a JSON document")
        action.set_defaults(act=module.run)


def run(given: argparse.Namespace) -> int:
    """Runs one action."""
    code: int = given.act(given)
    return code
