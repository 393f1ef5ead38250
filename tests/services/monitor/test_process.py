"""From a ledger to judged windows: the same numbers however the ledger was written and read, and no number where units
are missing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import text

from models.assessment.figures import Errors, Rules, figures
from services.monitor.judgement import FIGURES, Judgement
from services.monitor.spans import DAY
from tests.services.monitor.conftest import Scene
from tests.services.monitor.simulated import BEGIN, HEAD, Book, Stream, simulate
from tests.services.monitor.watching import Watch, words


def census(book: Book, stream: Stream) -> float:
    """All labels of what was asked for, each a second after its unit; the time after the last."""
    first = book.decide(stream)
    now, asked = float(stream.time[-1]) + 1, stream.asked
    book.label((first + asked).tolist(), stream.error[asked].tolist(), now, received=(stream.time[asked] + 1).tolist())
    book.beat(now)
    return now


def same(one: Judgement, other: Judgement) -> None:
    """Counts to the last bit, sums to 1e-9."""
    assert (one.units, one.answered, one.labels, one.mode) == (other.units, other.answered, other.labels, other.mode)
    assert words(one) == words(other)
    assert one.figures.keys() == other.figures.keys()
    for name, found in one.figures.items():
        for end in ("estimate", "low", "high"):
            assert getattr(found, end) == pytest.approx(getattr(other.figures[name], end), rel=1e-9, nan_ok=True)
    assert one.drift.psi == other.drift.psi
    assert one.drift.log_wealth == other.drift.log_wealth


def test_with_all_labels_the_live_figures_are_those_of_demur_evaluate(scene: Scene) -> None:
    stream = simulate(5000, rate=1.0)
    now = census(scene.book(), stream)
    found = scene.watch(now).window()
    truth = figures(Errors(stream.error, HEAD.acceptable, Rules()), stream.uncertainty)
    assert found.valid, found.reasons
    assert found.units == found.labels == len(stream)
    for name in ("r_auc", "f1_auc", "f1_at_95"):
        assert found.figures[name].estimate == pytest.approx(getattr(truth, name), rel=1e-9)
    assert found.figures["mean_error"].estimate == pytest.approx(truth.error, rel=1e-9)
    for name in ("r_auc_random", "r_auc_optimal", "f1_auc_random", "f1_auc_optimal"):
        assert found.references[name] == pytest.approx(getattr(truth, name), rel=1e-9)
    curve = found.error_curve
    assert curve is not None
    assert curve.band.estimate[-1] == pytest.approx(truth.error)
    assert np.all(curve.optimal <= curve.band.estimate + 1e-12)
    assert found.abstained == pytest.approx(stream.deferred.mean())
    assert np.isfinite(found.drift.psi)
    assert BEGIN < found.end <= now


def test_panes_say_what_all_units_say_to_a_ten_thousandth(quick_scene: Scene) -> None:
    stream = simulate(100_000, 2, rate=1.0)
    now = census(quick_scene.book(), stream)
    found = quick_scene.watch(now, exact_units=0, last_units=1000).window("1d")
    truth = figures(Errors(stream.error, HEAD.acceptable, Rules()), stream.uncertainty)
    assert (found.mode, found.units, found.labels) == ("sketch", len(stream), len(stream))
    for name in ("r_auc", "f1_auc", "f1_at_95"):
        assert found.figures[name].estimate == pytest.approx(getattr(truth, name), rel=1e-4)


def test_panes_and_units_agree_on_sampled_labels_and_their_intervals(quick_scene: Scene) -> None:
    stream = simulate(50_000, 4, rate=0.05)
    now = census(quick_scene.book(), stream)
    exact = quick_scene.watch(now, exact_units=10**6, last_units=10**6, estimator="ht").window()
    sketch = quick_scene.watch(now, exact_units=0, last_units=1000, estimator="ht").window()
    assert (exact.mode, sketch.mode) == ("exact", "sketch")
    assert exact.valid
    assert sketch.valid
    assert sketch.effective_samples == pytest.approx(exact.effective_samples, rel=0.02)
    for name in FIGURES:
        one, other = exact.figures[name], sketch.figures[name]
        assert other.estimate == pytest.approx(one.estimate, rel=2e-3)
        assert other.high - other.low == pytest.approx(one.high - one.low, rel=0.02)


def test_the_estimates_cover_the_truth_where_the_naive_one_does_not(quick_scene: Scene) -> None:
    stream = simulate(60_000, 5, rate=0.05)
    now = census(quick_scene.book(), stream)
    found = quick_scene.watch(now, exact_units=10**6).window()
    truth = figures(Errors(stream.error, HEAD.acceptable, Rules()), stream.uncertainty)
    naive = figures(Errors(stream.error[stream.asked], HEAD.acceptable, Rules()), stream.uncertainty[stream.asked])
    area = found.figures["r_auc"]
    assert found.valid
    assert area.low < truth.r_auc < area.high
    assert naive.r_auc > 1.5 * truth.r_auc


def test_a_monitor_that_starts_anew_says_the_same(scene: Scene) -> None:
    """Two writers, flush by flush, with labels between them, corrections and labels before their units."""
    books = [scene.book(77), scene.book(99, deploy=False)]
    stream = simulate(6000, 6, rate=0.2, seconds=3000)
    now = BEGIN
    live = scene.watch(now)
    written: list[tuple[Book, int, Stream]] = []
    for part in range(30):
        book = books[part % 2]
        piece = stream.take(slice(200 * part, 200 * part + 200))
        now = float(piece.time[-1]) + 0.5
        first = book.decide(piece, now)
        written.append((book, first, piece))
        if part >= 4:
            whose, begin, old = written[part - 4]
            labels, errors = (begin + old.asked).tolist(), old.error[old.asked].tolist()
            book.label(labels, [error + 1 for error in errors], now, epoch=whose.epoch)
            book.label(labels[:10], errors[:10], now + 0.1, version=2, epoch=whose.epoch)
        for one in books:
            one.beat(now + 0.2)
        if part % 3 == 0:
            live.at(now + 0.2)
    live.at(now + 1)
    again = scene.watch(now + 1)
    for window in ("15m", "1h", "1d", "last"):
        same(live.window(window), again.window(window))
    assert again.window("1d").units == 6000


def test_a_correction_takes_back_what_was_counted(quick_scene: Scene) -> None:
    book = quick_scene.book()
    stream = simulate(2000, 7, rate=1.0)
    first = book.decide(stream)
    now = float(stream.time[-1]) + 1
    units = list(range(first, first + len(stream)))
    wrong = (stream.error + 5).tolist()
    book.label(units, wrong, now)
    book.beat(now)
    watch = quick_scene.watch(now, exact_units=0)
    before = watch.window()
    book.label(units[:500], stream.error[:500].tolist(), now + 1, version=2)
    book.label(units[500:700], wrong[500:700], now - 50, version=0)  # older than what counts
    book.beat(now + 2)
    published = watch.at(now + 2)
    truth = np.concatenate([stream.error[:500], stream.error[500:] + 5])
    assert before.figures["mean_error"].estimate == pytest.approx(float(np.mean(wrong)))
    assert watch.window().figures["mean_error"].estimate == pytest.approx(float(truth.mean()), rel=1e-9)
    assert watch.window().labels == 2000
    verdicts = {verdict: count for (_, _, verdict), count in published.labels.items()}
    assert verdicts == {"counted": 2000, "corrected": 500, "superseded": 200}


def test_a_label_that_comes_before_its_unit_counts_when_the_unit_comes(scene: Scene) -> None:
    book, other = scene.book(), scene.book(5, deploy=False)
    stream = simulate(1000, 8, rate=1.0)
    now = float(stream.time[-1]) + 1
    other.label(range(1000), stream.error.tolist(), now, epoch=77, state=False)
    other.beat(now)
    watch = scene.watch(now)
    assert watch.monitor.published.labels == {("toy", "requested", "orphan"): 1000}
    assert book.decide(stream, now) == 0
    other.beat(now + 1)
    book.beat(now + 1)
    watch.at(now + 1)
    assert watch.window().labels == 1000
    same(watch.window(), scene.watch(now + 1).window())


def test_volunteered_labels_are_counted_and_never_judged_by(quick_scene: Scene) -> None:
    book = quick_scene.book()
    stream = simulate(3000, 9, rate=0.2)
    now = census(book, stream)
    before = quick_scene.watch(now).window()
    book.label(stream.asked.tolist(), [1e6] * len(stream.asked), now + 1, source="volunteered")
    book.beat(now + 1)
    watch = quick_scene.watch(now + 1)
    same(before, watch.window())
    assert watch.monitor.published.labels["toy", "volunteered", "counted"] == len(stream.asked)


def test_a_declared_population_is_judged_apart(quick_scene: Scene) -> None:
    book = quick_scene.book()
    stream = simulate(3000, 10, rate=1.0)
    first = book.decide(stream)
    now = float(stream.time[-1]) + 1
    book.label(range(first, first + 3000), stream.error.tolist(), now, source="census")
    book.beat(now)
    watch = quick_scene.watch(now)
    assert watch.window(source="census").valid
    assert watch.window(source="census").labels == 3000
    assert words(watch.window(source="requested")) >= {"no_labels"}


@pytest.mark.parametrize("rate", [0.0, 0.05])
def test_a_census_is_judged_by_all_units_however_few_are_asked_about(scene: Scene, rate: float) -> None:
    """Without audits nothing can be said from requests; the census says all, exactly and from panes."""
    book = scene.book()
    stream = simulate(6000, 10, rate=rate)
    first = book.decide(stream, census=True)
    now = float(stream.time[-1]) + 1
    book.label(range(first, first + 6000), stream.error.tolist(), now, source="census")
    book.beat(now)
    truth = figures(Errors(stream.error, HEAD.acceptable, Rules()), stream.uncertainty)
    for exact_units, mode, tolerance in ((10_000, "exact", 1e-9), (1000, "sketch", 1e-3)):
        watch = scene.watch(now, exact_units=exact_units)
        found = watch.window("1d", source="census")
        assert (found.mode, found.valid, found.labels) == (mode, True, 6000), found.reasons
        assert found.figures["r_auc"].estimate == pytest.approx(truth.r_auc, rel=tolerance)
        assert found.figures["mean_error"].estimate == pytest.approx(truth.error, rel=tolerance)
        asked = watch.window("1d", source="requested")
        assert words(asked) >= ({"no_labels"} if rate else {"no_labels", "positivity"})
        assert asked.labels == 0
        states = watch.monitor.published.streams[0].requests
        assert sum(states.values()) == len(stream.asked)


def test_a_census_with_a_part_missing_is_not_valid(quick_scene: Scene) -> None:
    book = quick_scene.book()
    stream = simulate(6000, 10, rate=0.05)
    first = book.decide(stream, census=True)
    now = float(stream.time[-1]) + 1
    there = np.flatnonzero(np.arange(6000) % 10 != 0)
    times = (stream.time[there] + 1).tolist()
    book.label((first + there).tolist(), stream.error[there].tolist(), now, source="census", received=times)
    book.beat(now + 86_000)
    assert words(quick_scene.watch(now + 86_000).window("1d", source="census")) == {"incomplete"}


def test_a_requested_label_that_nobody_asked_for_is_an_orphan(quick_scene: Scene) -> None:
    book = quick_scene.book()
    stream = simulate(3000, 9, rate=0.2)
    first = book.decide(stream, census=True)
    now = float(stream.time[-1]) + 1
    asked = stream.asked
    unasked = np.setdiff1d(np.arange(3000), asked)
    times = (stream.time[asked] + 1).tolist()
    book.label((first + asked).tolist(), stream.error[asked].tolist(), now, received=times)
    book.beat(now)
    before = quick_scene.watch(now).window()
    book.label((first + unasked).tolist(), [1e6] * len(unasked), now + 1, state=False)
    book.beat(now + 1)
    watch = quick_scene.watch(now + 1)
    same(before, watch.window())
    assert watch.monitor.published.labels["toy", "requested", "orphan"] == len(unasked)


def test_a_gap_makes_the_windows_it_touches_invalid_and_no_other(quick_scene: Scene) -> None:
    book = quick_scene.book()
    now = census(book, simulate(20_000, 11, rate=0.2))
    book.lose(now - 2000, now - 1990, 12)
    later = census(book, simulate(20_000, 12, rate=0.2, start=now))
    watch = quick_scene.watch(later)
    assert words(watch.window("15m")) == set()
    assert words(watch.window("1d")) == {"gap"}
    (text,) = [text for word, text in watch.window("1d").reasons if word == "gap"]
    assert "12 units" in text
    assert "disk full" in text


def test_a_process_that_is_silent_makes_windows_invalid_until_it_ends(scene: Scene) -> None:
    book, other = scene.book(), scene.book(5, deploy=False)
    now = census(book, simulate(5000, 13, rate=0.3))
    other.beat(now - 60)
    watch = scene.watch(now)
    assert words(watch.window()) == {"lag"}
    assert "Process 1 on here" in dict(watch.window().reasons)["lag"]
    told = scene.watch(now, gone=frozenset({5}))
    assert told.window().valid
    other.beat(now, ended=True)
    watch.at(now)
    assert watch.window().valid
    same(watch.window(), told.window())


def test_units_wait_until_all_processes_are_past_them(quick_scene: Scene) -> None:
    """A deferred unit is written at once, the answered ones around it up to a second later."""
    book, other = quick_scene.book(), quick_scene.book(5, deploy=False)
    stream = simulate(1000, 14, rate=1.0, seconds=6.0)
    now = census(book, stream)
    other.beat(float(stream.time[499]) + 1e-6)
    watch = quick_scene.watch(now)
    assert watch.window().units == watch.window().labels == 500
    assert watch.monitor.published.ledgers[0].complete_until == pytest.approx(stream.time[499])
    other.beat(now)
    watch.at(now)
    assert watch.window().units == 1000


def test_a_ledger_that_is_away_is_said_and_survived(quick_scene: Scene) -> None:
    now = census(quick_scene.book(), simulate(5000, 15, rate=0.3))
    watch = quick_scene.watch(now)
    before = watch.window()
    watch.monitor.close()
    path = Path(quick_scene.url.removeprefix("sqlite:///"))
    path.rename(path.with_suffix(".away"))
    published = watch.at(now + 5)
    assert published.ledgers[0].problem
    assert published.problem
    assert published.errors["ledger"] == 1
    watch.at(now + 30)
    assert words(watch.window()) >= {"ledger"}
    path.with_suffix(".away").rename(path)
    watch.at(now)
    same(watch.window(), before)


def test_a_ledger_that_forgot_is_read_from_its_start(quick_scene: Scene) -> None:
    book = quick_scene.book()
    stream = simulate(2000, 16, rate=1.0)
    now = census(book, stream)
    watch = quick_scene.watch(now)
    with book.engine.begin() as connection:
        connection.execute(text("DELETE FROM label WHERE sequence >= 1000"))
        connection.execute(text("DELETE FROM segment"))
        connection.execute(text("UPDATE writer SET flush = 1"))
    watch.at(now)
    watch.at(now)
    assert watch.monitor.published.errors["history"] == 1
    assert watch.window().units == 0


def test_a_segment_that_cannot_be_read_is_a_gap(quick_scene: Scene) -> None:
    book = quick_scene.book()
    now = census(book, simulate(3000, 17, rate=0.5))
    census(book, simulate(3000, 18, rate=0.5, start=BEGIN + 1))
    with book.engine.begin() as connection:
        connection.execute(text("UPDATE segment SET body = x'00' WHERE flush = 2"))
    watch = quick_scene.watch(now)
    assert watch.monitor.published.errors["segment"] == 1
    assert "gap" in words(watch.window())


def test_evidence_that_cannot_be_read_loses_its_label_alone(quick_scene: Scene) -> None:
    book = quick_scene.book()
    stream = simulate(1000, 19, rate=1.0)
    now = census(book, stream)
    with book.engine.begin() as connection:
        connection.execute(text("UPDATE item SET evidence = x'00' WHERE sequence = 7"))
        connection.execute(text("UPDATE item SET evidence = NULL, evidence_ref = 'sha256:lost' WHERE sequence = 8"))
    watch = quick_scene.watch(now)
    published = watch.monitor.published
    assert watch.window().labels == 998
    assert published.errors == {"evidence": 1, "store": 1}
    assert published.labels["toy", "requested", "unjudged"] == 2


def test_an_erased_label_keeps_its_number(quick_scene: Scene) -> None:
    book = quick_scene.book()
    stream = simulate(1000, 20, rate=1.0)
    now = census(book, stream)
    before = quick_scene.watch(now).window()
    with book.engine.begin() as connection:
        erased = [{"e": float(error), "s": unit} for unit, error in enumerate(stream.error)]
        connection.execute(text("UPDATE label SET value = NULL, error = :e, erased = 1 WHERE sequence = :s"), erased)
        connection.execute(text("UPDATE item SET evidence = NULL, erased = 1"))
    same(before, quick_scene.watch(now).window())


def test_explored_units_are_counted_and_enter_no_window(quick_scene: Scene) -> None:
    book = quick_scene.book()
    now = census(book, simulate(1000, 21, rate=1.0))
    before = quick_scene.watch(now).window()
    book.decide(simulate(500, 22), now, purpose="explore")
    book.beat(now)
    watch = quick_scene.watch(now)
    same(before, watch.window())
    assert watch.monitor.published.streams[0].explored == {"explore": 500}


def test_several_ledgers_are_one_stream(tmp_path: Path) -> None:
    scenes = [Scene(f"sqlite:///{tmp_path / f'{name}.db'}") for name in "abc"]
    try:
        stream = simulate(3000, 23, rate=1.0)
        now = float(stream.time[-1]) + 1
        for place, scene in enumerate(scenes):
            book = scene.book(100 + place)
            mine = stream.take(slice(place, None, 3))
            first = book.decide(mine)
            book.label(range(first, first + len(mine)), mine.error.tolist(), now)
            book.beat(now)
        watch = Watch(*(scene.url for scene in scenes), now=now)
        watch.at()
        truth = figures(Errors(stream.error, HEAD.acceptable, Rules()), stream.uncertainty)
        assert watch.window().units == 3000
        assert watch.window().figures["r_auc"].estimate == pytest.approx(truth.r_auc, rel=1e-9)
        watch.monitor.close()
    finally:
        for scene in scenes:
            scene.close()


def test_models_are_judged_apart(quick_scene: Scene) -> None:
    book = quick_scene.book()
    now = census(book, simulate(2000, 24, rate=1.0))
    book.deploy(now, model="toy-ensemble:next")
    other = simulate(1000, 25, rate=1.0, factor=2.0)
    first = book.decide(other, now, model="toy-ensemble:next")
    book.label(range(first, first + 1000), other.error.tolist(), now)
    book.beat(now)
    watch = quick_scene.watch(now)
    assert watch.window(model="toy-ensemble:abc123").units == 2000
    assert watch.window(model="toy-ensemble:next").units == 1000


def test_units_of_a_model_that_nobody_told_of_are_an_error_not_a_crash(quick_scene: Scene) -> None:
    book = quick_scene.book(deploy=False)
    stream = simulate(100, 26, rate=1.0)
    now = census(book, stream)
    watch = quick_scene.watch(now)
    assert watch.monitor.published.judgements == ()
    assert watch.monitor.published.errors["no_deployment"] > 0


def test_wrong_propensities_are_noticed(quick_scene: Scene) -> None:
    """The log says one in twenty; one in five was drawn."""
    stream = simulate(20_000, 27, rate=0.2)
    wrong = Stream(**{**stream.__dict__, "propensity": np.where(stream.deferred, 1.0, 0.05)})
    now = census(quick_scene.book(), wrong)
    assert "mismatch" in words(quick_scene.watch(now).window())
    assert "mismatch" in words(quick_scene.watch(now, exact_units=0).window("1d"))


def test_answers_that_no_label_can_stand_for_are_noticed(quick_scene: Scene) -> None:
    stream = simulate(20_000, 28, rate=0.2)
    blind = Stream(**{**stream.__dict__, "propensity": np.where(stream.asked.size and stream.audited, 0.2, 0.0)})
    blind = Stream(**{**blind.__dict__, "propensity": np.where(stream.deferred, 1.0, blind.propensity)})
    now = census(quick_scene.book(), blind)
    assert "positivity" in words(quick_scene.watch(now).window())
    assert "positivity" in words(quick_scene.watch(now, exact_units=0).window("1d"))


def test_the_baseline_is_the_first_day_unless_the_artefact_has_one(quick_scene: Scene) -> None:
    book = quick_scene.book()
    now = census(book, simulate(5000, 29, rate=0.5))
    watch = quick_scene.watch(now)
    first = watch.window("1h").baseline
    assert first is not None
    assert first.origin == "first_day"
    later = census(book, simulate(5000, 30, rate=0.5, start=now, factor=3.0, seconds=600))
    watch.at(later)
    second = watch.window("15m").baseline
    assert second is not None
    assert first.low < second.high < watch.window("15m").figures["r_auc"].low
    assert quick_scene.watch(later).window("15m").baseline == second, "whoever starts anew says the same"
    book.deploy(later, model="other:1", quality={"r_auc": {"low": 1.0, "high": 2.0}})
    other = simulate(2000, 31, rate=1.0, start=now)
    first_unit = book.decide(other, later, model="other:1")
    book.label(range(first_unit, first_unit + 2000), other.error.tolist(), later)
    book.beat(later)
    watch.at(later)
    assert watch.window("1h", model="other:1").baseline == (1.0, 2.0, "artefact")


def test_the_baseline_stays_that_of_the_first_day_and_begins_after_a_gap(quick_scene: Scene) -> None:
    book = quick_scene.book()
    now = census(book, simulate(1000, 29, rate=0.5, seconds=600))
    book.lose(now - 1, now, 3)
    good = simulate(16_000, 30, rate=0.5, start=now + 600, seconds=2 * DAY)
    now = census(book, good)
    now = census(book, simulate(8000, 31, rate=0.5, start=now + 600, factor=3.0, seconds=4 * DAY))
    watch = quick_scene.watch(now)
    baseline = watch.window("1d").baseline
    assert baseline is not None
    truth = figures(Errors(good.error, HEAD.acceptable, Rules()), good.uncertainty)
    assert baseline.low < truth.r_auc < baseline.high < watch.window("1d").figures["r_auc"].low
    assert watch.window("7d").baseline != baseline, "it is for windows of so many units"


def test_two_cycles_without_news_judge_nothing_anew(quick_scene: Scene) -> None:
    now = census(quick_scene.book(), simulate(3000, 32, rate=1.0))
    watch = quick_scene.watch(now)
    before = watch.monitor.published.judgements
    after = watch.at(now).judgements
    assert all(one is other for one, other in zip(before, after, strict=True))
