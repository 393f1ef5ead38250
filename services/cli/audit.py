"""``demur audit TASK``: who changed policies, labelled, worked on requests and erased, as the ledger has it."""

from __future__ import annotations

import argparse
import time
from typing import Any
from urllib.parse import urlencode

import msgspec

from services.cli.asking import ask, refusal
from services.cli.output import CommandError, print_json
from services.cli.places import announced
from services.ledger.audit_trail import KINDS
from services.runtime.settings import Settings, address
from services.tasks import TENANTS

EXAMPLE = "demur audit vessel --kind policy --days 30"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("task", choices=sorted(TENANTS))
    parser.add_argument("--kind", action="append", choices=KINDS, help="may be repeated; default: all")
    parser.add_argument("--actor", default="", help="default: everybody but the service itself")
    parser.add_argument("--days", type=float, default=7.0, help="how far back; default: 7")
    parser.add_argument("--most", type=int, default=100, help="the newest so many, up to 1000; default: 100")
    parser.add_argument("--url", help="of the service's HTTP; default: where `demur up` runs it")
    parser.add_argument("--json", action="store_true", help="print a JSON document")


def run(given: argparse.Namespace) -> int:
    """Asks the running service; where there are tokens, one with the scope policy is needed."""
    settings = Settings.read(task=given.task)
    running = announced(settings.home).get(given.task)
    base, certificate = given.url, ""
    if not base and running is not None:
        base, certificate = running.http, running.certificate
    base = base or f"http://{address(settings.host, settings.ports[0])}"
    query = {
        "kind": ",".join(given.kind or KINDS),
        "actor": given.actor,
        "since": f"{max(0.0, time.time() - given.days * 86_400):.3f}",
        "most": str(given.most),
    }
    code, body = ask(f"{base.rstrip('/')}/v1/audit?{urlencode(query)}", seconds=30, certificate=certificate)
    if code == 0:
        raise CommandError(f"no service answers at {base}: {body.decode(errors='replace')}")
    if code != 200:
        raise CommandError(refusal(body))
    found = msgspec.json.decode(body)
    if given.json:
        print_json(found)
        return 0
    for act in found["acts"]:
        print(_line(act))
    return 0


def _line(act: dict[str, Any]) -> str:
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(act["time"]))
    number = "" if act["count"] == 1 else f"{act['count']} × "
    about = [str(act[name]) for name in ("head", "unit", "reason") if name in act]
    return "  ".join([f"{when} UTC", f"{act['actor']:<20}", f"{act['kind']:<8}", f"{number}{act['what']}", *about])
