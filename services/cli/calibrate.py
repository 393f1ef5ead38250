"""``demur calibrate``: a threshold for a goal, with a certificate that says what it promises."""

from __future__ import annotations

import argparse
import math
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from models.certification.calibrate import Calibrated, calibrate, default_judge_share
from models.certification.capacity import Desk
from models.certification.certificate import VALID_DAYS, About
from models.certification.choose import Capacity, Goal, JointRisk, SelectiveRisk, TargetRetention
from models.certification.selective_risk import binary
from models.evaluation.evaluate import plain
from models.evaluation.unit_errors import BadFile
from services.cli.calibrate_file import GENERIC, File, read
from services.cli.calibrate_text import lines
from services.cli.output import BadInput, print_json
from services.cli.predictions import READERS, companion_arguments

EXAMPLE = "demur calibrate --predictions errors.csv --acceptable 250000 --risk 0.1 --delta 0.05"
DELTA = 0.05


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--predictions", required=True, type=Path, metavar="FILE", help="CSV or Parquet; else --task")
    parser.add_argument(
        "--task", choices=sorted(READERS), default=GENERIC, help="what the file holds; default: columns"
    )
    goals = parser.add_argument_group("goal (one)")
    goals.add_argument("--risk", type=float, metavar="A", help="share of unacceptable errors among the answered")
    goals.add_argument("--joint-risk", type=float, metavar="A", help="loss of all, deferred ones counted 0, expected")
    goals.add_argument("--retention", type=float, metavar="R", help="share that is answered, 0 to 1")
    goals.add_argument("--capacity", type=float, metavar="N", help="deferrals that can be taken per hour")
    parser.add_argument("--delta", type=float, help=f"1 - confidence; default {DELTA}")
    parser.add_argument("--acceptable", type=float, metavar="T", help="largest acceptable error; default: the task's")
    parser.add_argument("--bound", type=float, metavar="B", help="errors are losses from 0 to this; default: 0 or 1")
    parser.add_argument("--arrivals", type=float, metavar="N", help="with --capacity: units per hour")
    parser.add_argument("--reviewers", type=int, metavar="C", help="who shares the queue: gives waits, or the capacity")
    parser.add_argument("--handling", type=float, metavar="SECONDS", help="with --reviewers: mean time a unit takes")
    parser.add_argument("--by", metavar="COLUMN", help="a threshold for each of its values")
    parser.add_argument("--error", metavar="COLUMN", help="default: error; with --task: the task's")
    parser.add_argument("--uncertainty", metavar="COLUMN", help="default: uncertainty; with --task: the task's measure")
    parser.add_argument("--id", metavar="COLUMN", help="rows of one id stay in one fold; default: the row number")
    parser.add_argument(
        "--judge-share",
        type=float,
        metavar="S",
        help="kept for judging; default 0.05 of 1000 rows or more for a risk, otherwise 0",
    )
    companion_arguments(parser)
    parser.add_argument("--model", metavar="TAG", help="artefact that made the predictions, for the certificate")
    parser.add_argument("--valid-days", type=int, default=VALID_DAYS, help=f"default {VALID_DAYS}")
    parser.add_argument("--json", action="store_true", help="print a JSON document")


def run(given: argparse.Namespace) -> int:
    """Reads, chooses, judges; "no certifiable threshold" is an answer, not a failure."""
    desk = _check(given)
    with np.errstate(all="ignore"):
        try:
            file = read(given)
            goal, notes = _goal(given, file, desk)
            share = default_judge_share(goal, len(file.units)) if given.judge_share is None else given.judge_share
            about = About(
                file.measure,
                datetime.now(UTC).date(),
                error=file.error,
                model=given.model,
                valid=timedelta(days=given.valid_days),
            )
            found = calibrate(
                file.units,
                goal,
                about,
                share,
                file.by,
                acceptable=file.acceptable,
                bound=None if file.units.errors is None or file.acceptable is None else 1.0,
            )
        except BadFile as error:
            raise BadInput(str(error)) from error
        except ValueError as error:  # numbers that a procedure refuses; it says which
            raise BadInput(f"{given.predictions}: {error}") from error
    document = {
        **_outcome(found),
        "file": str(given.predictions),
        "goal": {"kind": KINDS[type(goal)], **asdict(goal)},
        "measure": file.measure,
        "error": file.error,
        "judge_share": share,
        **({"desk": _desk(desk, given.arrivals, found)} if desk else {}),
        **({"by": given.by, "groups": {name: _outcome(one) for name, one in found.groups.items()}} if given.by else {}),
        "notes": [*file.notes, *notes],
    }
    if given.json:
        print_json(plain(document))
    else:
        print("\n".join(lines(document)))
    return 0


KINDS = {
    SelectiveRisk: "selective_risk",
    JointRisk: "joint_risk",
    TargetRetention: "retention",
    Capacity: "capacity",
}


def _check(given: argparse.Namespace) -> Desk | None:
    """What can be refused before anything is read; the desk of reviewers if there is one."""
    desk = None
    if (given.reviewers is None) != (given.handling is None):
        raise BadInput("--reviewers and --handling go together: how many, and the mean time of one unit in seconds")
    if given.reviewers is not None:
        try:
            desk = Desk(given.reviewers, given.handling)
        except ValueError as error:
            raise BadInput(str(error)) from error
        if given.capacity is None and given.arrivals is not None:
            given.capacity = desk.per_hour
    goals = [name for name in ("risk", "joint_risk", "retention", "capacity") if getattr(given, name) is not None]
    if len(goals) != 1:
        have = " and ".join(f"--{name.replace('_', '-')}" for name in goals) or "none"
        raise BadInput(f"one goal is needed, {have} given: --risk, --joint-risk, --retention or --capacity")
    if (given.capacity is not None) != (given.arrivals is not None):
        raise BadInput("--capacity and --arrivals go together: deferrals and units per hour")
    if desk and given.capacity is None:
        raise BadInput("--reviewers says nothing without --arrivals, the units per hour")
    bounds = {
        "risk": (0, given.bound or 1, "a share of errors in (0, 1), or a mean loss below --bound"),
        "joint_risk": (0, given.bound or 1, "a loss in (0, 1), or below --bound"),
        "delta": (0, 1, "a probability in (0, 1)"),
        "bound": (0, math.inf, "a largest loss above 0"),
    }
    for name, (low, high, needed) in bounds.items():
        value = getattr(given, name)
        if value is not None and not low < value < high:
            raise BadInput(f"--{name.replace('_', '-')} is {value:g}; {needed} is needed")
    if given.retention is not None and not 0 < given.retention <= 1:
        raise BadInput(f"--retention is {given.retention:g}; a share in (0, 1] is needed")
    if given.acceptable is not None and not math.isfinite(given.acceptable):
        raise BadInput(f"--acceptable is {given.acceptable:g}; a finite number, in the error's unit, is needed")
    for name in ("capacity", "arrivals"):
        value = getattr(given, name)
        if value is not None and not 0 <= value < math.inf:
            raise BadInput(f"--{name} is {value:g}; a finite number of at least 0 is needed")
    if given.judge_share is not None and not 0 <= given.judge_share < 1:
        raise BadInput(f"--judge-share is {given.judge_share:g}; a share in [0, 1) is needed")
    if not 1 <= given.valid_days <= 36500:
        raise BadInput(f"--valid-days is {given.valid_days}; 1 to 36500 is needed")
    if given.acceptable is not None and given.bound is not None:
        raise BadInput("--acceptable makes losses of 0 and 1, --bound takes the errors as losses: give one of them")
    if given.bound is not None and given.risk is None and given.joint_risk is None:
        raise BadInput("--bound is for --risk and --joint-risk; leave it out")
    if given.joint_risk is not None and given.delta is not None:
        raise BadInput("--joint-risk is controlled in expectation: it has no --delta")
    return desk


def _goal(given: argparse.Namespace, file: File, desk: Desk | None) -> tuple[Goal, list[str]]:
    """The goal in full, and what was assumed for it."""
    delta = DELTA if given.delta is None else given.delta
    if given.retention is not None:
        return TargetRetention(given.retention, delta), []
    if given.capacity is not None:
        notes = []
        if desk and given.capacity > desk.per_hour + 1e-9:
            notes = [f"{given.capacity:g} deferrals per hour keep the reviewers busier than 85 %: waits grow fast"]
        return Capacity(given.capacity, given.arrivals, delta), notes
    acceptable, notes, errors = file.acceptable, [], file.units.errors
    if given.bound is not None:
        acceptable = None
    elif acceptable is None:
        if errors is None or not binary(errors):
            raise BadFile(
                f"{given.predictions}: {file.error} has values other than 0 and 1: give --acceptable, the largest "
                "error that is acceptable, or --bound, if errors are losses from 0 to that"
            )
        notes = ["errors are 0 and 1: 1 counts as unacceptable"]
    bound = 1.0 if given.bound is None else given.bound
    if given.risk is not None:
        return SelectiveRisk(given.risk, delta, acceptable, bound), notes
    return JointRisk(given.joint_risk, acceptable, bound), notes


def _outcome(found: Calibrated) -> dict[str, Any]:
    chosen = found.chosen
    return {
        "threshold": chosen.threshold,
        "retention": found.retention,
        "certificate": None if chosen.certificate is None else chosen.certificate.plain(),
        "judged": None if found.judged is None else asdict(found.judged),
        "reason": chosen.reason,
        "n": found.n,
        "seen_risk": None if found.seen.risk is None else found.seen.risk.estimate,
    }


def _desk(desk: Desk, arrivals: float, found: Calibrated) -> dict[str, float]:
    deferrals = arrivals * (1 - found.retention)
    return {
        "reviewers": desk.reviewers,
        "handling_seconds": desk.handling_seconds,
        "capacity_per_hour": desk.per_hour,
        "deferrals_per_hour": deferrals,
        "busy": deferrals * desk.handling_seconds / 3600 / desk.reviewers,
        "wait_seconds": desk.wait(deferrals),
    }
