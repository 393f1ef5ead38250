"""``demur monitor replay``: the figures of a logged stream, with what the labels that came can say of them."""

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from click import Choice, option

from models.agreement.human_error import HumanError
from models.assessment.convention import CONVENTIONS
from models.estimation.estimate_window import EstimationOptions, WindowEstimate, document, estimate_window, number
from models.estimation.replay import Arrivals, Replay, Stream, replay
from models.estimation.weights import ESTIMATORS
from models.evaluation.opinions import read_opinions
from models.evaluation.stream import Events, LabelRows, places, read_events, read_labels
from models.evaluation.unit_errors import BadFile
from models.live.reviewer_figures import ReviewedHead
from models.live.stream import SOURCES
from models.live.units import CENSUS
from models.tasks.rules import rules
from services.cli.options import Options, command, convention_option, json_option, require
from services.cli.output import BadInput, ProgressLine, print_json, table

_SHOWN = ("r_auc", "f1_auc", "f1_at_95", "error", "answered_error", "mean_error", "system_error")


@command("replay", example="demur monitor replay --events events.csv --labels labels.csv --acceptable 1 --json")
@option("--events", required=True, type=Path, metavar="FILE", help="CSV or Parquet file of decided units.")
@option("--labels", required=True, type=Path, metavar="FILE", help="CSV or Parquet file of labels.")
@option("--opinions", type=Path, metavar="FILE", help="CSV or Parquet file of second opinions and known units.")
@option("--acceptable", type=float, metavar="T", help="Largest acceptable error; without it there is no F1.")
@option("--at", type=float, metavar="TIME", help="Time of the evaluation, in seconds.  [default: the end]")
@option("--estimator", type=Choice(ESTIMATORS), default="aipw", show_default=True, help="Estimator.")
@option("--mode", type=Choice(("exact", "sketch")), default="exact", show_default=True, help="Arithmetic.")
@option("--by", metavar="COLUMN", help="Column of the events to break figures down by.")
@option("--what-if", multiple=True, type=float, metavar="THRESHOLD", help="Other threshold; may be repeated.")
@convention_option
@option("--task", default="", help="Compute areas and ties as the released code of this task does.")
@json_option
def replay_command(options: Options) -> int:
    """Evaluate a logged stream: what deferring costs and saves, estimated from its labels.

    Figures that are not valid are printed too, with the reasons.
    """
    _check(options)
    line = ProgressLine("judging")
    request = EstimationOptions(
        acceptable=options.acceptable,
        estimator=options.estimator,
        mode=options.mode,
        rules=rules(options.task, CONVENTIONS[options.convention]),
        thresholds=tuple(options.what_if),
    )
    try:
        events = read_events(options.events, [options.by] if options.by else [])
        line(0.4, options.events.name)
        labels = read_labels(options.labels)
        line(0.6, options.labels.name)
    except BadFile as error:
        raise BadInput(str(error)) from error
    replayed = _joined(events, labels, options.at)
    people = _people(options, labels, replayed.at)
    line(0.7)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # beyond float64: null
        result = people.document(estimate_window(replayed.window, request), request)
        result |= {"at": number(replayed.at), "repeated": events.repeated, **asdict(replayed.counts)}
        if options.by:
            result["groups"] = _groups(events, replayed, options.by, request, people)
    line(1.0)
    if options.json:
        print_json(result)
    else:
        print("\n".join(_lines(options, result)))
    return 0


@dataclass(frozen=True)
class _People:
    """Error of the reviewers of a stream, where opinions are given."""

    head: ReviewedHead | None
    human: HumanError | None
    source: str

    def document(self, estimate: WindowEstimate, request: EstimationOptions) -> dict[str, Any]:
        """Return the figures of a window, with the reviewers' error in that of the system."""
        result, figures, human = document(estimate, request), estimate.figures, self.human
        if self.head is None or human is None:
            return result
        if figures is not None:
            answered = None if math.isnan(figures.answered_error.estimate) else figures.answered_error
            system = self.head.system_error(figures.retention, answered, human, self.source)
            ends = ("estimate", "low", "high")
            result["system_error"] = None if system is None else {end: number(getattr(system, end)) for end in ends}
        ends_of_human = {"estimate": human.mean, "low": human.lower, "high": human.upper}
        result["human_error"] = {end: number(value) for end, value in ends_of_human.items()}
        return result | {"opinions": human.n, "human_error_from": human.method}


def _people(options: Options, labels: LabelRows, at: float) -> _People:
    if options.opinions is None:
        return _People(None, None, "")
    try:
        head, opinions = read_opinions(options.opinions, at)
    except BadFile as error:
        raise BadInput(str(error)) from error
    comparable = [own for own in opinions if not math.isnan(own.difference)]
    return _People(head, head.human_error(comparable), CENSUS if labels.census else SOURCES[0])


def _check(options: Options) -> None:
    for name in ("acceptable", "at"):
        require(options, name, math.isfinite, "a finite number")
    require(options, "what_if", lambda value: not math.isnan(value), "a threshold of the uncertainty")
    for path in (options.events, options.labels, *([] if options.opinions is None else [options.opinions])):
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


def _groups(
    events: Events, replayed: Replay, column: str, request: EstimationOptions, people: "_People"
) -> dict[str, Any]:
    """Return the figures of each value of a column, each as a stream of its own."""
    values, group = np.unique(events.groups[column][replayed.units].astype(str), return_inverse=True)
    order = np.argsort(group, kind="stable")
    parts = np.split(order, np.cumsum(np.bincount(group, minlength=len(values)))[:-1]) if len(values) else []
    return {
        str(value): people.document(estimate_window(replayed.window.take(part), request), request)
        for value, part in zip(values, parts, strict=True)
    }


def _lines(options: Options, result: dict[str, Any]) -> Iterator[str]:
    yield f"{options.events}: {result['n']} units, {result['labels']} labels ({result['sampled']} drawn at random)"
    late = result["delay"]
    if late["early"]:
        yield f"{late['early']} units are younger than {late['youngest_seconds']:g} s, too young to be judged"
    limit = "none" if options.acceptable is None else f"{options.acceptable:g}"
    yield f"estimator: {options.estimator}; mode: {options.mode}; convention: {options.convention}; acceptable: {limit}"
    if "human_error" in result:
        human = result["human_error"]
        ends = f"{_text(human['low'])} to {_text(human['high'])}"
        text = f"{_text(human['estimate'])} ({ends}), by {result['human_error_from']}"
        yield f"error of a reviewer's label: {text}; {result['opinions']} opinions"
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
        yield f"{options.by} = {value}: {part['n']} units, {part['labels']} labels, " + (
            "valid" if part["valid"] else f"NOT VALID ({'; '.join(part['reasons'])})"
        )
        yield from _rows("", {name: part[name] for name in _SHOWN if part[name] is not None})


def _rows(title: str, figures: dict[str, dict[str, float | None]]) -> list[str]:
    head = [title, "estimate", "95 % low", "95 % high"] if title else []
    return table(
        head, ([name, *(_text(figure[key]) for key in ("estimate", "low", "high"))] for name, figure in figures.items())
    )


def _text(value: float | None) -> str:
    return "–" if value is None else f"{value:.5g}"
