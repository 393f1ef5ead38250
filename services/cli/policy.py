"""``demur policy show|set|history|what-if``: who is answered by a running service."""

from __future__ import annotations

import argparse
import getpass
import json
import time
import urllib.parse
from dataclasses import asdict
from pathlib import Path
from typing import Any

import msgspec

import demur
from services.cli.asking import ask, identified, refusal
from services.cli.output import BadInput, CommandError, print_json
from services.cli.places import MONITOR, announced
from services.policy.changes import AUDITS
from services.runtime.settings import Settings, address
from services.tasks import TENANTS

EXAMPLE = "demur policy set vessel --target-retention 0.9 --reason 'fewer deferrals at night'"


def arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    show = actions.add_parser("show", help="the policies in force")
    change = actions.add_parser("set", help="change a policy: durable, on every replica within two seconds")
    history = actions.add_parser("history", help="the last changes, the newest first")
    what_if = actions.add_parser("what-if", help="what other thresholds would do to the live traffic, with intervals")
    for action in (show, change, history, what_if):
        action.add_argument("task", choices=sorted(TENANTS))
        action.add_argument("--json", action="store_true", help="print a JSON document")
    for action in (show, change, history):
        action.add_argument("--target", help="host:port of the gRPC service; default: where `demur up` runs it")
    for action in (change, history, what_if):
        action.add_argument("--head", help="needed where the task has several")
    goal = change.add_mutually_exclusive_group()
    goal.add_argument("--target-retention", type=float, metavar="SHARE", help="share of in-domain units to answer")
    goal.add_argument("--threshold", type=float, help="in the unit of the head's measure")
    goal.add_argument("--certificate", type=Path, metavar="FILE", help="what `demur calibrate --json` printed")
    goal.add_argument("--defer-all", action="store_true", help="answer nothing")
    change.add_argument(
        "--audit-rate", type=float, metavar="SHARE", help="share of answered units to label, 0.0001 to 1"
    )
    change.add_argument("--audits", choices=AUDITS, help="all alike, or more often where errors cost the curve more")
    change.add_argument("--defer-on-shift", action=argparse.BooleanOptionalAction, help="defer what looks unfamiliar")
    change.add_argument("--withhold", action=argparse.BooleanOptionalAction, help="hide predictions of deferred units")
    change.add_argument("--if-version", default="", metavar="VERSION", help="only if this version is in force")
    change.add_argument("--author", default=None, help="default: your user name; with a token, its name")
    change.add_argument("--reason", default="", help="kept with the change")
    what_if.add_argument("--threshold", type=float, action="append", required=True, help="may be repeated")
    what_if.add_argument("--window", default="", help="window of the monitor, such as 1d; default: the last units")
    what_if.add_argument("--monitor", help="URL of the monitor; default: where `demur up` runs it")


def run(given: argparse.Namespace) -> int:
    """Does what the action says."""
    if given.action == "what-if":
        return _what_if(given)
    with demur.connect(given.target or _target(given.task)) as client:
        try:
            return {"show": _show, "set": _set, "history": _history}[given.action](client.policies, given)
        except demur.DemurError as error:
            raise CommandError(str(error)) from error


def _show(policies: demur.Policies, given: argparse.Namespace) -> int:
    found = policies.show()
    if given.json:
        print_json({"policies": [_plain(policy) for policy in found]})
        return 0
    for policy in found:
        _print_policy(policy)
    return 0


def _set(policies: demur.Policies, given: argparse.Namespace) -> int:
    wishes: dict[str, Any] = {
        "target_retention": given.target_retention,
        "threshold": given.threshold,
        "defer_all": given.defer_all,
        "audit_rate": given.audit_rate,
        "audits": given.audits,
        "defer_on_shift": given.defer_on_shift,
        "withhold": given.withhold,
    }
    if given.certificate is not None:
        wishes |= _certified(given.certificate)
    if (
        all(wish is None or wish is False for wish in wishes.values())
        and given.defer_on_shift is given.withhold is None
    ):
        raise BadInput("nothing to change: give a goal, audits, or a flag; --help lists them")
    change = policies.set(
        _head(policies, given.head),
        expected=given.if_version,
        author=given.author or ("" if identified() else getpass.getuser()),
        reason=given.reason,
        **wishes,
    )
    if given.json:
        print_json(_event(change))
    else:
        print(f"change {change.number}, in force:")
        _print_policy(change.policy)
    return 0


def _history(policies: demur.Policies, given: argparse.Namespace) -> int:
    changes = policies.history(_head(policies, given.head))
    if given.json:
        print_json({"events": [_event(change) for change in changes]})
        return 0
    for change in changes:
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(change.time))
        words = f"{_goal(change.policy)}, audits {_audits(change.policy)}"
        print(f"{change.number:>4}  {when} UTC  {change.author:<12} {words}  {change.reason}".rstrip())
    return 0


def _what_if(given: argparse.Namespace) -> int:
    running = announced(Settings.read().home).get(MONITOR)
    base = given.monitor or (running.http if running else None)
    if base is None:
        raise CommandError("no monitor is running here; start it with `demur up`, or name one with --monitor")
    query = [("task", given.task), *(("threshold", repr(value)) for value in given.threshold)]
    query += [(name, value) for name, value in (("head", given.head), ("window", given.window)) if value]
    own = "" if given.monitor or running is None else running.certificate
    code, body = ask(f"{base}/v1/what-if?{urllib.parse.urlencode(query)}", seconds=30, certificate=own)
    if code == 0:
        raise CommandError(f"no monitor answers at {base}: {body.decode(errors='replace')}")
    if code != 200:
        raise CommandError(refusal(body))
    print_json(msgspec.json.decode(body))
    return 0


def _certified(path: Path) -> dict[str, Any]:
    """The goal that a file of ``demur calibrate --json`` amounts to.

    Raises:
        BadInput: it is none.
    """
    try:
        found = json.loads(path.read_bytes())
        threshold, certificate = found["threshold"], found["certificate"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadInput(f"{path} is not what `demur calibrate --json` prints: {error!r}") from error
    goal: dict[str, Any] = {"defer_all": True, "threshold": None} if threshold is None else {"threshold": threshold}
    return goal | {"certificate": "" if certificate is None else json.dumps(certificate, sort_keys=True)}


def _head(policies: demur.Policies, wanted: str | None) -> str:
    if wanted:
        return wanted
    heads = [policy.head for policy in policies.show()]
    if len(heads) != 1:
        raise BadInput(f"this task has the heads {', '.join(heads)}; name one with --head")
    return heads[0]


def _target(task: str) -> str:
    settings = Settings.read(task=task)
    running = announced(settings.home).get(task)
    return running.grpc if running else address(settings.host, settings.ports[1])


def _print_policy(policy: demur.Policy) -> None:
    print(f"{policy.head}: {_goal(policy)}")
    print(f"  version {policy.version}, measure {policy.measure}, audits {_audits(policy)}")
    print(f"  for {policy.model} under {policy.profile}")
    if policy.reason and policy.mode != "defer_all":
        print(f"  {policy.reason}")


def _goal(policy: demur.Policy) -> str:
    if policy.mode == "defer_all":
        return f"everything is deferred: {policy.reason}"
    words = {
        "target_retention": f"answers {policy.target_retention:.1%} of in-domain units (± {policy.retention_band:.1%})",
        "fixed": "fixed threshold",
        "certified": "certified threshold",
    }[policy.mode]
    because = f"; {policy.reason}" if policy.reason else ""
    return f"{words}, {policy.measure} <= {policy.threshold:g}{because}"


def _audits(policy: demur.Policy) -> str:
    return f"{policy.audit_rate:.2%} of what is answered{', stratified' * (policy.audits == 'stratified')}"


def _event(change: demur.PolicyChange) -> dict[str, Any]:
    return asdict(change) | {"policy": _plain(change.policy)}


def _plain(policy: demur.Policy) -> dict[str, Any]:
    certificate = json.loads(policy.certificate) if policy.certificate else None
    return asdict(policy) | {"certificate": certificate}
