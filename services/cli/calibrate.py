"""``demur calibrate``: a threshold for a goal, with a certificate of what it guarantees."""

import math
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from click import option

from models.certification import calibrate as calibration
from models.certification.calibrate import Calibrated, default_judge_share
from models.certification.capacity import Desk
from models.certification.certificate import VALID_DAYS, About
from models.certification.choose import Capacity, Goal, JointRisk, SelectiveRisk, TargetRetention
from models.certification.selective_risk import binary
from models.evaluation.evaluate import plain
from models.evaluation.unit_errors import BadFile
from services.cli.options import Options, command, json_option, require
from services.cli.output import BadInput, print_json, table
from services.cli.predictions import FORM_NAME, GENERIC, File, companion_options, read

DELTA = 0.05


@command("calibrate", example="demur calibrate --predictions errors.csv --acceptable 250000 --risk 0.1 --delta 0.05")
@option("--predictions", required=True, type=Path, metavar="FILE", help="CSV or Parquet, or the format of --task.")
@option("--task", type=FORM_NAME, default=GENERIC, help="Task or form.  [default: columns]")
@option("--risk", type=float, metavar="A", help="Goal: share of unacceptable errors among answered units.")
@option("--joint-risk", type=float, metavar="A", help="Goal: expected loss of all units; deferred ones count 0.")
@option("--retention", type=float, metavar="R", help="Goal: share of units that is answered, 0 to 1.")
@option("--capacity", type=float, metavar="N", help="Goal: deferrals per hour that can be handled.")
@option("--delta", type=float, help=f"1 - confidence.  [default: {DELTA}]")
@option("--acceptable", type=float, metavar="T", help="Largest acceptable error.  [default: the task's]")
@option("--bound", type=float, metavar="B", help="Largest loss.  [default: losses are 0 or 1]")
@option("--arrivals", type=float, metavar="N", help="With --capacity: units per hour.")
@option("--reviewers", type=int, metavar="C", help="With --handling: reviewers who share the queue.")
@option("--handling", type=float, metavar="SECONDS", help="With --reviewers: mean time per unit.")
@option("--by", metavar="COLUMN", help="Choose a threshold for each value of this column.")
@option("--error", metavar="COLUMN", help="Error.  [default: error, or the task's]")
@option("--uncertainty", metavar="COLUMN", help="Measure.  [default: uncertainty, or the task's]")
@option("--id", metavar="COLUMN", help="Keep rows of one id in one fold.  [default: the row number]")
@option(
    "--judge-share",
    type=float,
    metavar="S",
    help="Share to judge by.  [default: 0.05 of 1000 or more for a risk, else 0]",
)
@companion_options
@option("--model", metavar="TAG", help="Artefact that made the predictions, for the certificate.")
@option("--valid-days", type=int, default=VALID_DAYS, show_default=True, help="Validity in days.")
@json_option
def calibrate(options: Options) -> int:
    """Choose a threshold that reaches a goal, with a certificate of what it guarantees.

    Give one goal. "No certifiable threshold" is a result, not a failure.
    """
    desk = _check(options)
    with np.errstate(all="ignore"):
        try:
            file = read(options)
            goal, notes = _goal(options, file, desk)
            share = default_judge_share(goal, len(file.units)) if options.judge_share is None else options.judge_share
            about = About(
                file.measure,
                datetime.now(UTC).date(),
                error=file.error,
                model=options.model,
                valid=timedelta(days=options.valid_days),
            )
            result = calibration.calibrate(
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
            raise BadInput(f"{options.predictions}: {error}") from error
    document = {
        **_outcome(result),
        "file": str(options.predictions),
        "goal": {"kind": KINDS[type(goal)], **asdict(goal)},
        "measure": file.measure,
        "error": file.error,
        "judge_share": share,
        **({"desk": _desk(desk, options.arrivals, result)} if desk else {}),
        **(
            {"by": options.by, "groups": {name: _outcome(group) for name, group in result.groups.items()}}
            if options.by
            else {}
        ),
        "notes": [*file.notes, *notes],
    }
    if options.json:
        print_json(plain(document))
    else:
        print("\n".join(lines(document)))
    return 0


KINDS = {SelectiveRisk: "selective_risk", JointRisk: "joint_risk", TargetRetention: "retention", Capacity: "capacity"}


def _check(options: Options) -> Desk | None:
    """Check the options before anything is read; return the desk of reviewers, if they describe one."""
    desk = None
    if (options.reviewers is None) != (options.handling is None):
        raise BadInput("--reviewers and --handling belong together: give their number, and the mean seconds per unit")
    if options.reviewers is not None:
        try:
            desk = Desk(options.reviewers, options.handling)
        except ValueError as error:
            raise BadInput(str(error)) from error
        if options.capacity is None and options.arrivals is not None:
            options.capacity = desk.per_hour
    goals = [name for name in ("risk", "joint_risk", "retention", "capacity") if getattr(options, name) is not None]
    if len(goals) != 1:
        have = " and ".join(f"--{name.replace('_', '-')}" for name in goals) or "none"
        raise BadInput(f"expected one goal, --risk, --joint-risk, --retention or --capacity; got {have}")
    if (options.capacity is not None) != (options.arrivals is not None):
        raise BadInput("--capacity and --arrivals belong together: give deferrals and units per hour")
    if desk and options.capacity is None:
        raise BadInput("--reviewers needs --arrivals, the units per hour")
    limit = options.bound or 1
    require(options, "risk", lambda value: 0 < value < limit, "a share in (0, 1), or a mean loss below --bound")
    require(options, "joint_risk", lambda value: 0 < value < limit, "a loss in (0, 1), or below --bound")
    require(options, "delta", lambda value: 0 < value < 1, "a probability in (0, 1)")
    require(options, "bound", lambda value: 0 < value < math.inf, "a largest loss above 0")
    require(options, "retention", lambda value: 0 < value <= 1, "a share in (0, 1]")
    require(options, "acceptable", math.isfinite, "a finite number, in the unit of the error")
    for name in ("capacity", "arrivals"):
        require(options, name, lambda value: 0 <= value < math.inf, "a finite number of at least 0")
    require(options, "judge_share", lambda value: 0 <= value < 1, "a share in [0, 1)")
    require(options, "valid_days", lambda value: 1 <= value <= 36500, "between 1 and 36500")
    if options.acceptable is not None and options.bound is not None:
        raise BadInput("--acceptable (losses of 0 and 1) and --bound (errors are losses) exclude each other")
    if options.bound is not None and options.risk is None and options.joint_risk is None:
        raise BadInput("--bound: only for --risk and --joint-risk; leave it out")
    if options.joint_risk is not None and options.delta is not None:
        raise BadInput("--joint-risk is controlled in expectation: leave --delta out")
    return desk


def _goal(options: Options, file: File, desk: Desk | None) -> tuple[Goal, list[str]]:
    """Return the goal, and notes on what was assumed for it."""
    delta = DELTA if options.delta is None else options.delta
    if options.retention is not None:
        return TargetRetention(options.retention, delta), []
    if options.capacity is not None:
        notes = []
        if desk and options.capacity > desk.per_hour + 1e-9:
            notes = [f"{options.capacity:g} deferrals per hour keep the reviewers busier than 85 %: waits grow fast"]
        return Capacity(options.capacity, options.arrivals, delta), notes
    acceptable, notes, errors = file.acceptable, [], file.units.errors
    if options.bound is not None:
        acceptable = None
    elif acceptable is None:
        if errors is None or not binary(errors):
            raise BadFile(
                f"{options.predictions}: {file.error} has values other than 0 and 1: give --acceptable, the largest "
                "error that is acceptable, or --bound, if errors are losses from 0 to that"
            )
        notes = ["errors are 0 and 1: 1 counts as unacceptable"]
    bound = 1.0 if options.bound is None else options.bound
    if options.risk is not None:
        return SelectiveRisk(options.risk, delta, acceptable, bound), notes
    return JointRisk(options.joint_risk, acceptable, bound), notes


def _outcome(result: Calibrated) -> dict[str, Any]:
    chosen = result.chosen
    return {
        "threshold": chosen.threshold,
        "retention": result.retention,
        "certificate": None if chosen.certificate is None else chosen.certificate.plain(),
        "judged": None if result.judged is None else asdict(result.judged),
        "reason": chosen.reason,
        "n": result.n,
        "seen_risk": None if result.seen.risk is None else result.seen.risk.estimate,
    }


def _desk(desk: Desk, arrivals: float, result: Calibrated) -> dict[str, float]:
    deferrals = arrivals * (1 - result.retention)
    return {
        "reviewers": desk.reviewers,
        "handling_seconds": desk.handling_seconds,
        "capacity_per_hour": desk.per_hour,
        "deferrals_per_hour": deferrals,
        "busy": deferrals * desk.handling_seconds / 3600 / desk.reviewers,
        "wait_seconds": desk.wait(deferrals),
    }


MOST_GROUPS = 200


def lines(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield the result for all units, then a row per group."""
    yield document["file"]
    for name, text in _statements(document):
        yield textwrap.fill(f"{name:<9}  {text}", 118, subsequent_indent=" " * 11)
    if desk := document.get("desk"):
        yield (
            f"desk: {desk['deferrals_per_hour']:.4g} deferrals per hour keep {desk['reviewers']} reviewers "
            f"{desk['busy']:.0%} busy; mean wait {desk['wait_seconds']:.3g} s"
        )
    if groups := document.get("groups"):
        yield ""
        yield from _groups(document["by"], groups)
    yield from (f"note: {note}" for note in document["notes"])


def _statements(result: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Return the name and text of each known result."""
    threshold, certificate, judged = result["threshold"], result["certificate"], result["judged"]
    if threshold is None:
        yield ("threshold", result["reason"])
    else:
        yield ("threshold", f"{threshold:.9g}: answer where {result['measure']} is at most this")
    yield ("retention", f"{result['retention']:.4f} of {result['n']} units")
    if certificate is not None:
        yield ("promise", certificate["statement"])
        yield ("rests on", _evidence(certificate))
        yield ("procedure", certificate["procedure"])
        yield ("valid", f"{certificate['issued']} to {certificate['expires']}, for this model and score")
    if judged is not None:
        risk = (
            "" if judged["risk"] is None or not judged["answered"] else f"; risk of these {_interval(judged['risk'])}"
        )
        share = _interval(judged["retention"])
        yield ("judged", f"on {judged['n']} other units: {judged['answered']} answered, {share}{risk}")


def _groups(column: str, groups: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    shown = sorted(groups, key=lambda value: -groups[value]["n"])[:MOST_GROUPS]
    rows = [
        [value, str(group["n"]), _threshold(group["threshold"]), f"{group['retention']:.4f}", group["reason"]]
        for value, group in groups.items()
        if value in set(shown)
    ]
    yield from table([column, "units", "threshold", "retention", ""], rows, left=(0, 4))
    if len(shown) < len(groups):
        yield f"the {len(shown)} largest of {len(groups)} groups; --json has all"


def _evidence(certificate: Mapping[str, Any]) -> str:
    parts = [f"{certificate['n']} units", f"{certificate['answered']} of them answered"]
    if certificate["loss"] is not None:
        parts.append(f"with a loss of {certificate['loss']:g}")
    if certificate["pvalue"] is not None:
        parts.append(f"p = {certificate['pvalue']:.3g}")
    return ", ".join(parts)


def _interval(interval: Mapping[str, float]) -> str:
    return f"{interval['estimate']:.4f} [{interval['low']:.4f}, {interval['high']:.4f}]"


def _threshold(value: float | None) -> str:
    return "none" if value is None else f"{value:.6g}"
