"""The error of reviewers, from their opinions in ledgers, and the error of the system that has it in it."""

import numpy as np
import pytest
from sqlalchemy import update

from models.label_errors import label_rule
from services.ledger.tables import opinion
from services.monitor.document import document
from services.monitor.exporter import Exporter
from services.monitor.page import Pages
from services.monitor.reviewer_document import named_document
from services.report.number_format import THIN
from tests.services.monitor.conftest import Scene
from tests.services.monitor.simulated import HEAD, TASK, Book, Stream, simulate
from tests.services.monitor.watching import Watch, same

NOISE_KW = 1.5
"""Standard deviation of a reviewer's error."""


def _labelled(scene: Scene, seed: int = 3, census: bool = False) -> tuple[Book, Stream, int, float]:
    """A stream whose labels have a reviewer's error."""
    book = scene.book()
    stream = simulate(4000, seed, rate=0.3, seconds=7200)
    first, now = book.decide(stream, census=census), float(stream.time[-1]) + 1
    source = np.random.default_rng([seed, 1])  # not the draws of the stream itself
    measured = (np.sqrt(stream.error) + source.normal(0, NOISE_KW, len(stream))) ** 2
    if census:
        book.label(range(first, first + len(stream)), stream.error.tolist(), now, source="census")
    else:
        book.label((first + stream.asked).tolist(), measured[stream.asked].tolist(), now)
    book.beat(now)
    return book, stream, first, now


def _opine(book: Book, stream: Stream, first: int, now: float, count: int, seed: int = 5) -> None:
    """Second opinions with the same error as the labels."""
    source = np.random.default_rng(seed)
    differences = (source.normal(0, NOISE_KW, count) - source.normal(0, NOISE_KW, count)) ** 2
    book.opine((first + stream.asked[:count]).tolist(), differences.tolist(), now)
    book.beat(now)


def _truth(stream: Stream) -> float:
    return float(np.where(stream.deferred, NOISE_KW**2, stream.error).mean())


def test_without_opinions_reviewers_are_taken_to_be_right(quick_scene: Scene) -> None:
    _, _, _, now = _labelled(quick_scene)
    watch = quick_scene.watch(now)
    window = watch.window("last")
    assert window.human_error is None
    assert window.figures["system_error"] == window.figures["error"]
    text = Pages().page(watch.monitor.snapshot, "", now)
    assert "Reviewers are taken to be right" in text


def test_second_opinions_correct_the_error_of_the_system(scene: Scene) -> None:
    book, stream, first, now = _labelled(scene)
    watch = scene.watch(now)
    before = watch.window("last")
    _opine(book, stream, first, now, 400)
    watch.at()
    window = watch.window("last")
    human, system = window.human_error, window.figures["system_error"]
    assert human is not None
    assert human.n == 400
    assert human.lower < NOISE_KW**2 < human.upper
    assert system.low < _truth(stream) < system.high
    assert abs(before.figures["system_error"].estimate - _truth(stream)) > 1.0, "perfect reviewers are far off"
    other = scene.watch(now).window("last")
    same(other, window)
    assert other.human_error == human


def test_census_labels_are_the_truth(quick_scene: Scene) -> None:
    book, stream, first, now = _labelled(quick_scene, census=True)
    _opine(book, stream, first, now, 300)
    window = quick_scene.watch(now).window("last", source="census")
    share = 1 - stream.deferred.mean()
    human, answered = window.human_error, window.figures["answered_error"].estimate
    assert human is not None
    assert window.figures["system_error"].estimate == pytest.approx(share * answered + (1 - share) * human.mean)


def test_known_units_count_too_and_show_a_common_bias(quick_scene: Scene) -> None:
    book, stream, first, now = _labelled(quick_scene)
    _opine(book, stream, first, now, 300)
    biased = (np.random.default_rng(8).normal(5, NOISE_KW, 200) ** 2).tolist()
    book.opine((first + stream.asked[300:500]).tolist(), biased, now, kind="known", number=1)
    book.beat(now)
    watch = quick_scene.watch(now)
    human = watch.window("last").human_error
    assert human is not None
    assert human.method == "contradiction"
    assert human.lower < 25 + NOISE_KW**2 < human.upper
    assert "share a bias" in Pages().page(watch.monitor.snapshot, "", now)


def test_opinions_that_cannot_be_compared_or_wait_do_not_count(quick_scene: Scene) -> None:
    book, stream, first, now = _labelled(quick_scene)
    units = (first + stream.asked[:60]).tolist()
    book.opine(units[:20], [-1.0] * 20, now)
    book.opine(units[20:40], [None] * 20, now)
    book.opine(units[40:], [None] * 20, now, state="claimed")
    book.beat(now)
    watch = quick_scene.watch(now)
    assert watch.window("last").human_error is None
    _compared_later(book, units[20:40], now)
    watch.at()
    human = watch.window("last").human_error
    assert human is not None
    assert (human.n, human.mean) == (20, 2.0)


def _compared_later(book: Book, units: list[int], now: float) -> None:
    chosen = opinion.c.sequence.in_(units)
    book.write(now, lambda c, p: c.execute(update(opinion).where(chosen).values({"difference": 4.0} | p)))
    book.beat(now)


def test_figures_of_reviewers_are_published_everywhere(quick_scene: Scene) -> None:
    book, stream, first, now = _labelled(quick_scene)
    _opine(book, stream, first, now, 200)
    watch = quick_scene.watch(now)
    snapshot = watch.monitor.snapshot
    shown = document(snapshot, now)
    own = shown["reviewers"][0]
    assert (own["task"], own["head"], own["second_opinions"], own["known_units"]) == (TASK, HEAD.name, 200, 0)
    assert own["human_error"]["low"] < NOISE_KW**2 < own["human_error"]["high"]
    assert {window["human_error"] for window in shown["windows"]} == {own["human_error"]["estimate"]}
    exporter = Exporter()
    exporter.publish(snapshot)
    text = exporter.text(now).decode()
    assert f'demur_human_error{{head="{HEAD.name}",task="{TASK}"}}' in text
    assert f'demur_review_opinions{{head="{HEAD.name}",kind="second",task="{TASK}"}} 200.0' in text
    assert f'demur_review_label_seconds{{head="{HEAD.name}",quantile="0.5",task="{TASK}"}} 20.0' in text
    page = Pages().page(snapshot, "", now).replace(THIN, " ")
    assert "from 200 second opinions" in page
    assert "200 labels in the last day, half of them in at most 20.00 s each." in page
    assert "At the pace of the last day" in page
    assert "somebody" not in text + str(shown) + page, "nobody is named"


def test_operators_see_reviewers_and_pairs_by_name(quick_scene: Scene) -> None:
    book, stream, first, now = _labelled(quick_scene)
    rule = label_rule(HEAD)
    source = np.random.default_rng(4)
    for number, actor in enumerate(("anna", "ben")):
        units = (first + stream.asked[100 * number : 100 * (number + 1)]).tolist()
        values = [rule.label(float(value)) for value in source.normal(0, 10, 100)]
        book.opine(units, [float(number + 1)] * 100, now, actor=actor, values=values)
    book.beat(now)
    (head,) = named_document(quick_scene.watch(now).monitor.snapshot)["heads"]
    people = {own["name"]: own for own in head["reviewers"]}
    assert people.keys() == {"anna", "ben"}
    assert people["anna"]["pace"]["seconds"]["median"] == 20
    assert people["anna"]["agreement"]["difference"]["estimate"] == 1
    assert {tuple(pair["names"]): pair["agreement"]["difference"]["estimate"] for pair in head["pairs"]} == {
        ("anna", "somebody"): 1,
        ("ben", "somebody"): 2,
    }


def test_agreement_of_numbers_has_an_intraclass_correlation(quick_scene: Scene) -> None:
    book, stream, first, now = _labelled(quick_scene)
    rule, units = label_rule(HEAD), (first + stream.asked[:200]).tolist()
    values = [rule.label(float(value)) for value in np.random.default_rng(4).normal(0, 10, 200)]
    book.opine(units, [1.0] * 200, now, values=values, label_values=values)
    book.beat(now)
    own = document(quick_scene.watch(now).monitor.snapshot, now)["reviewers"][0]
    assert own["agreement"]["icc"]["estimate"] == pytest.approx(1)
    assert own["agreement"]["alpha"]["estimate"] == pytest.approx(1)


def test_old_opinions_are_forgotten(quick_scene: Scene) -> None:
    book, stream, first, now = _labelled(quick_scene)
    _opine(book, stream, first, now, 100)
    watch: Watch = quick_scene.watch(now)
    assert watch.window("last").human_error is not None
    later = now + 40 * 86400
    book.beat(later)
    watch.at(later)
    assert watch.monitor.snapshot.reviewers[0].human_error is None


def test_a_pace_of_the_last_day_ends_with_it(quick_scene: Scene) -> None:
    book, stream, first, now = _labelled(quick_scene)
    _opine(book, stream, first, now, 100)
    watch: Watch = quick_scene.watch(now)
    assert watch.monitor.snapshot.reviewers[0].pace.labels == 100
    book.beat(now + 2 * 86400)
    watch.at(now + 2 * 86400)
    assert watch.monitor.snapshot.reviewers[0].pace.labels == 0
    assert watch.monitor.snapshot.reviewers[0].second_opinions == 100
