"""``demur monitor replay``: the figures of a logged stream, with what the labels that came can say of them."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from models.assessment.convention import CONVENTIONS
from models.estimation.estimate_window import EstimationOptions, document, estimate_window, number
from models.estimation.replay import Arrivals, Replay, Stream, replay
from models.estimation.weights import ESTIMATORS
from models.evaluation.stream import Events, LabelRows, places, read_events, read_labels
from models.evaluation.unit_errors import BadFile
from models.tasks.rules import rules
from services.cli.output import BadInput, ProgressLine, print_json

EXAMPLE = "demur monitor replay --events events.csv --labels labels.csv --acceptable 1 --json"
_SHOWN = ("r_auc", "f1_auc", "f1_at_95", "error", "answered_error", "mean_error", "system_error")


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--events", required=True, type=Path, metavar="FILE", help="CSV or Parquet: one row a decided unit"
    )
    parser.add_argument(
        "--labels", required=True, type=Path, metavar="FILE", help="CSV or Parquet: labels as they came"
    )
    parser.add_argument("--acceptable", type=float, metavar="T", help="largest acceptable error; without it no F1")
    parser.add_argument(
        "--at", type=float, metavar="TIME", help="judge as of this moment, in seconds; default: the end"
    )
    parser.add_argument("--estimator", choices=ESTIMATORS, default="aipw", help="default: aipw")
    parser.add_argument("--mode", choices=("exact", "sketch"), default="exact", help="default: exact")
    parser.add_argument("--by", metavar="COLUMN", help="also for each value of a column of the events")
    parser.add_argument(
        "--what-if", action="append", default=[], type=float, metavar="THRESHOLD", help="figures at another threshold"
    )
    parser.add_argument(
        "--convention", choices=sorted(CONVENTIONS), default="official", help="released code or text of the papers"
    )
    parser.add_argument("--task", default="", help="take areas and ties as this task's released code does")
    parser.add_argument("--json", action="store_true", help="print a JSON document")


def run(given: argparse.Namespace) -> int:
    """Judges; figures that are not valid are printed all the same, with the reasons."""
    _check(given)
    line = ProgressLine("judging")
    options = EstimationOptions(
        acceptable=given.acceptable,
        estimator=given.estimator,
        mode=given.mode,
        rules=rules(given.task, CONVENTIONS[given.convention]),
        thresholds=tuple(given.what_if),
    )
    try:
        events = read_events(given.events, [given.by] if given.by else [])
        line(0.4, given.events.name)
        labels = read_labels(given.labels)
        line(0.6, given.labels.name)
    except BadFile as error:
        raise BadInput(str(error)) from error
    found = _joined(events, labels, given.at)
    line(0.7)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # what exceeds float64 is null, and said so
        result = document(estimate_window(found.window, options), options)
        result |= {"at": number(found.at), "repeated": events.repeated, **asdict(found.counts)}
        if given.by:
            result["groups"] = _groups(events, found, given.by, options)
    line(1.0)
    if given.json:
        print_json(result)
    else:
        print("\n".join(_lines(given, result)))
    return 0


def _check(given: argparse.Namespace) -> None:
    for name in ("acceptable", "at"):
        value = getattr(given, name)
        if value is not None and not math.isfinite(value):
            raise BadInput(f"--{name} is {value:g}; a finite number is needed")
    if any(math.isnan(value) for value in given.what_if):
        raise BadInput("--what-if is nan; a threshold of the uncertainty is needed")
    for path in (given.events, given.labels):
        if not path.is_file():
            raise BadInput(f"{path}: no such file")


def _joined(events: Events, labels: LabelRows, at: float | None) -> Replay:
    stream = Stream(
        *(events.time, events.uncertainty, events.answered, events.propensity, events.requested, events.expected)
    )
    arrivals = Arrivals(
        place=places(labels.ids, events.ids),
        time=labels.time,
        error=labels.error,
        version=labels.version,
        volunteered=labels.volunteered,
        human_error=labels.human_error,
    )
    return replay(stream, arrivals, at)


def _groups(events: Events, found: Replay, column: str, options: EstimationOptions) -> dict[str, Any]:
    """The same of each value, judged as a stream of its own."""
    values, group = np.unique(events.groups[column][found.units].astype(str), return_inverse=True)
    order = np.argsort(group, kind="stable")
    parts = np.split(order, np.cumsum(np.bincount(group, minlength=len(values)))[:-1]) if len(values) else []
    return {
        str(value): document(estimate_window(found.window.take(part), options), options)
        for value, part in zip(values, parts, strict=True)
    }


def _lines(given: argparse.Namespace, result: dict[str, Any]) -> Iterator[str]:
    yield f"{given.events}: {result['n']} units, {result['labels']} labels ({result['sampled']} drawn at random)"
    late = result["delay"]
    if late["early"]:
        yield f"{late['early']} units are younger than {late['youngest_seconds']:g} s, too young to be judged"
    limit = "none" if given.acceptable is None else f"{given.acceptable:g}"
    yield f"estimator: {given.estimator}; mode: {given.mode}; convention: {given.convention}; acceptable: {limit}"
    yield "valid" if result["valid"] else "NOT VALID"
    yield from (f"  {text}" for text in result["reasons"])
    yield from _rows("figure", {name: result[name] for name in _SHOWN if result[name] is not None})
    shown = (f"{name} {_text(result[name])}" for name in ("retention", "prr", "r_auc_random", "r_auc_optimal", "ess"))
    yield ", ".join(shown)
    for other in result.get("what_if", ()):
        yield ""
        yield f"threshold {other['threshold']:g} would answer {other['retention']:.2%}"
        yield from _rows("", {name: other[name] for name in ("error", "answered_error", "f1") if other[name]})
    for value, part in result.get("groups", {}).items():
        yield ""
        yield f"{given.by} = {value}: {part['n']} units, {part['labels']} labels, " + (
            "valid" if part["valid"] else f"NOT VALID ({'; '.join(part['reasons'])})"
        )
        yield from _rows("", {name: part[name] for name in _SHOWN if part[name] is not None})


def _rows(head: str, figures: dict[str, dict[str, float | None]]) -> Iterator[str]:
    if head:
        yield f"{head:<16}{'estimate':>12}{'95 % low':>12}{'95 % high':>12}"
    for name, one in figures.items():
        yield f"{name:<16}" + "".join(f"{_text(one[key]):>12}" for key in ("estimate", "low", "high"))


def _text(value: float | None) -> str:
    return "–" if value is None else f"{value:.5g}"
