"""``demur policy show|set|history|what-if``: who is answered by a running service."""

import getpass
import json
import time
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
import msgspec
from click import Choice, argument, option

import demur
from services.cli.http_client import ask, identified, refusal
from services.cli.options import CONTEXT, Options, command, exclusive, json_option, switch
from services.cli.output import BadInput, CommandError, print_json
from services.cli.processes import MONITOR, announced, grpc_target
from services.cli.task_name import TaskName
from services.policy.changes import AUDITS
from services.runtime.settings import Settings

target_option = option("--target", help="host:port of the gRPC service.  [default: where `demur up` runs it]")
head_option = option("--head", help="Head; needed if the task has several.")


@click.group(
    epilog="Example: demur policy set vessel --target-retention 0.9 --reason 'fewer deferrals at night'",
    context_settings=CONTEXT,
)
def policy() -> None:
    """Show and change thresholds of a running service; estimate the effect of other thresholds."""


@command("show", example="demur policy show vessel")
@argument("task", type=TaskName())
@json_option
@target_option
def show(options: Options) -> int:
    """Show the policies in force."""
    with _policies(options) as policies:
        policies_in_force = policies.show()
        if options.json:
            print_json({"policies": [_plain(policy) for policy in policies_in_force]})
            return 0
        for policy in policies_in_force:
            _print_policy(policy)
        return 0


@command("set", example="demur policy set vessel --target-retention 0.9 --reason 'fewer deferrals at night'")
@argument("task", type=TaskName())
@json_option
@target_option
@head_option
@option("--target-retention", type=float, metavar="SHARE", help="Goal: share of in-domain units to answer.")
@option("--threshold", type=float, help="Goal: threshold, in the unit of the head's measure.")
@option("--certificate", type=Path, metavar="FILE", help="Goal: output of `demur calibrate --json`.")
@switch("--defer-all", help="Goal: answer nothing.")
@option("--audit-rate", type=float, metavar="SHARE", help="Share of answered units to label, 0.0001 to 1.")
@option("--audits", type=Choice(AUDITS), help="Draw units alike, or more where errors cost more.")
@option("--defer-on-shift/--no-defer-on-shift", default=None, help="Defer inputs that look unfamiliar.")
@option("--withhold/--no-withhold", default=None, help="Hide predictions of deferred units.")
@option("--if-version", default="", metavar="VERSION", help="Change only if this version is in force.")
@option("--author", help="Author.  [default: your user name; with a token, its name]")
@option("--reason", default="", help="Reason, kept with the change.")
def set_command(options: Options) -> int:
    """Change a policy: durable, and in force on every replica within two seconds."""
    exclusive(options, "target_retention", "threshold", "certificate", "defer_all")
    with _policies(options) as policies:
        wishes: dict[str, Any] = {
            "target_retention": options.target_retention,
            "threshold": options.threshold,
            "defer_all": options.defer_all,
            "audit_rate": options.audit_rate,
            "audits": options.audits,
            "defer_on_shift": options.defer_on_shift,
            "withhold": options.withhold,
        }
        if options.certificate is not None:
            wishes |= _certified(options.certificate)
        if (
            all(wish is None or wish is False for wish in wishes.values())
            and options.defer_on_shift is options.withhold is None
        ):
            raise BadInput("nothing to change: give at least one option, which --help lists")
        change = policies.set(
            _head(policies, options.head),
            expected=options.if_version,
            author=options.author or ("" if identified() else getpass.getuser()),
            reason=options.reason,
            **wishes,
        )
        if options.json:
            print_json(_event(change))
        else:
            print(f"change {change.number}, in force:")
            _print_policy(change.policy)
        return 0


@command("history", example="demur policy history vessel")
@argument("task", type=TaskName())
@json_option
@target_option
@head_option
def history(options: Options) -> int:
    """List the last changes, the newest first."""
    with _policies(options) as policies:
        changes = policies.history(_head(policies, options.head))
        if options.json:
            print_json({"events": [_event(change) for change in changes]})
            return 0
        for change in changes:
            when = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(change.time))
            words = f"{_goal(change.policy)}, audits {_audits(change.policy)}"
            print(f"{change.number:>4}  {when} UTC  {change.author:<12} {words}  {change.reason}".rstrip())
        return 0


@command("what-if", example="demur policy what-if vessel --threshold 1.5 --window 1d")
@argument("task", type=TaskName())
@json_option
@head_option
@option("--threshold", type=float, multiple=True, required=True, help="Threshold; may be repeated.")
@option("--window", default="", help="Window of the monitor, such as 1d.  [default: the last units]")
@option("--monitor", help="URL of the monitor.  [default: where `demur up` runs it]")
def what_if(options: Options) -> int:
    """Estimate the effect of other thresholds on live traffic, with intervals."""
    running = announced(Settings.read().home).get(MONITOR)
    base = options.monitor or (running.http if running else None)
    if base is None:
        raise CommandError("no monitor is running; start it with `demur up`, or give its URL with --monitor")
    query = [("task", options.task), *(("threshold", repr(value)) for value in options.threshold)]
    query += [(name, value) for name, value in (("head", options.head), ("window", options.window)) if value]
    own = "" if options.monitor or running is None else running.certificate
    code, body = ask(f"{base}/v1/what-if?{urllib.parse.urlencode(query)}", seconds=30, certificate=own)
    if code == 0:
        raise CommandError(f"no monitor answers at {base}: {body.decode(errors='replace')}")
    if code != 200:
        raise CommandError(refusal(body))
    print_json(msgspec.json.decode(body))
    return 0


for _command in (show, set_command, history, what_if):
    policy.add_command(_command)


@contextmanager
def _policies(options: Options) -> Iterator[demur.Policies]:
    """Connect to the service; raise its errors as failures of the command."""
    with demur.connect(options.target or grpc_target(options.task)) as client:
        try:
            yield client.policies
        except demur.DemurError as error:
            raise CommandError(str(error)) from error


def _certified(path: Path) -> dict[str, Any]:
    """Return the goal of a file that ``demur calibrate --json`` printed.

    Raises:
        BadInput: it is not such a file.
    """
    try:
        document = json.loads(path.read_bytes())
        threshold, certificate = document["threshold"], document["certificate"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadInput(f"{path} is not what `demur calibrate --json` prints: {error!r}") from error
    goal: dict[str, Any] = {"defer_all": True, "threshold": None} if threshold is None else {"threshold": threshold}
    return goal | {"certificate": "" if certificate is None else json.dumps(certificate, sort_keys=True)}


def _head(policies: demur.Policies, head: str | None) -> str:
    if head:
        return head
    heads = [policy.head for policy in policies.show()]
    if len(heads) != 1:
        raise BadInput(f"--head is missing: must be one of {', '.join(heads)}")
    return heads[0]


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
