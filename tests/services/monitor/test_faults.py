"""What is missing, silent or unreadable makes windows invalid, and nothing else wrong."""

from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import text

from tests.services.monitor.conftest import Scene
from tests.services.monitor.simulated import BEGIN, Stream, label_asked, simulate
from tests.services.monitor.watching import same, words


def test_a_gap_makes_the_windows_it_touches_invalid_and_no_other(quick_scene: Scene) -> None:
    book = quick_scene.book()
    now = label_asked(book, simulate(20_000, 11, rate=0.2))
    book.lose(now - 2000, now - 1990, 12)
    later = label_asked(book, simulate(20_000, 12, rate=0.2, start=now))
    watch = quick_scene.watch(later)
    assert words(watch.window("15m")) == set()
    assert words(watch.window("1d")) == {"gap"}
    (text,) = [text for word, text in watch.window("1d").reasons if word == "gap"]
    assert "12 units" in text
    assert "disk full" in text


def test_a_gap_of_nobody_knows_how_many_units_is_a_gap(quick_scene: Scene) -> None:
    """A database that forgot what it had confirmed, a ledger from a backup: a time is known, and no number."""
    book = quick_scene.book()
    now = label_asked(book, simulate(20_000, 11, rate=0.2))
    book.lose(now - 2000, now - 1990, 0, "forgotten")
    watch = quick_scene.watch(label_asked(book, simulate(20_000, 12, rate=0.2, start=now)))
    assert words(watch.window("15m")) == set()
    assert words(watch.window("1d")) == {"gap"}
    assert "At least 1 units" in dict(watch.window("1d").reasons)["gap"]


def test_a_process_that_is_silent_makes_windows_invalid_until_it_ends(scene: Scene) -> None:
    book, other = scene.book(), scene.book(5, deploy=False)
    now = label_asked(book, simulate(5000, 13, rate=0.3))
    other.beat(now - 60)
    watch = scene.watch(now)
    assert words(watch.window()) == {"lag"}
    assert "Process 1 on here" in dict(watch.window().reasons)["lag"]
    informed = scene.watch(now, gone=frozenset({5}))
    assert informed.window().valid
    other.beat(now, ended=True)
    watch.at(now)
    assert watch.window().valid
    same(watch.window(), informed.window())


def test_units_wait_until_all_processes_are_past_them(quick_scene: Scene) -> None:
    """A deferred unit is written at once, the answered ones around it up to a second later."""
    book, other = quick_scene.book(), quick_scene.book(5, deploy=False)
    stream = simulate(1000, 14, rate=1.0, seconds=6.0)
    now = label_asked(book, stream)
    other.beat(float(stream.time[499]) + 1e-6)
    watch = quick_scene.watch(now)
    assert watch.window().units == watch.window().labels == 500
    assert watch.monitor.snapshot.ledgers[0].complete_until == pytest.approx(stream.time[499])
    other.beat(now)
    watch.at(now)
    assert watch.window().units == 1000


def test_a_ledger_that_is_away_is_said_and_survived(quick_scene: Scene) -> None:
    now = label_asked(quick_scene.book(), simulate(5000, 15, rate=0.3))
    watch = quick_scene.watch(now)
    before = watch.window()
    watch.monitor.close()
    path = Path(quick_scene.url.removeprefix("sqlite:///"))
    path.rename(path.with_suffix(".away"))
    snapshot = watch.at(now + 5)
    assert snapshot.ledgers[0].problem
    assert snapshot.problem
    assert snapshot.errors["ledger"] == 1
    watch.at(now + 30)
    assert words(watch.window()) >= {"ledger"}
    path.with_suffix(".away").rename(path)
    watch.at(now)
    same(watch.window(), before)


def test_a_ledger_that_forgot_is_read_from_its_start(quick_scene: Scene) -> None:
    book = quick_scene.book()
    stream = simulate(2000, 16, rate=1.0)
    now = label_asked(book, stream)
    watch = quick_scene.watch(now)
    with book.engine.begin() as connection:
        connection.execute(text("DELETE FROM label WHERE sequence >= 1000"))
        connection.execute(text("DELETE FROM segment"))
        connection.execute(text("UPDATE writer SET flush = 1"))
    watch.at(now)
    watch.at(now)
    assert watch.monitor.snapshot.errors["history"] == 1
    assert watch.window().units == 0


def test_a_ledger_without_a_process_that_was_there_is_read_from_its_start(quick_scene: Scene) -> None:
    """As one that was restored from a backup is: what came after that is no part of any figure."""
    now = label_asked(quick_scene.book(), simulate(2000, 16, rate=1.0))
    second = quick_scene.book(78, deploy=False)
    later = label_asked(second, simulate(2000, 17, rate=1.0, start=now))
    watch = quick_scene.watch(later)
    assert watch.window("1d").units == 4000
    with second.engine.begin() as connection:
        for table in ("writer WHERE epoch", "segment WHERE writer", "item WHERE writer", "label WHERE writer"):
            connection.execute(text(f"DELETE FROM {table} = 78"))
    watch.at(later)
    watch.at(later)
    assert watch.monitor.snapshot.errors["history"] == 1
    assert watch.window("1d").units == 2000


def test_a_segment_that_cannot_be_read_is_a_gap(quick_scene: Scene) -> None:
    book = quick_scene.book()
    now = label_asked(book, simulate(3000, 17, rate=0.5))
    label_asked(book, simulate(3000, 18, rate=0.5, start=BEGIN + 1))
    with book.engine.begin() as connection:
        connection.execute(text("UPDATE segment SET body = x'00' WHERE flush = 2"))
    watch = quick_scene.watch(now)
    assert watch.monitor.snapshot.errors["segment"] == 1
    assert "gap" in words(watch.window())


def test_evidence_that_cannot_be_read_loses_its_label_alone(quick_scene: Scene) -> None:
    book = quick_scene.book()
    stream = simulate(1000, 19, rate=1.0)
    now = label_asked(book, stream)
    with book.engine.begin() as connection:
        connection.execute(text("UPDATE item SET evidence = x'00' WHERE sequence = 7"))
        connection.execute(text("UPDATE item SET evidence = NULL, evidence_ref = 'sha256:lost' WHERE sequence = 8"))
    watch = quick_scene.watch(now)
    snapshot = watch.monitor.snapshot
    assert watch.window().labels == 998
    assert snapshot.errors == {"evidence": 1, "store": 1}
    assert snapshot.labels["toy", "requested", "unjudged"] == 2


def test_an_erased_label_keeps_its_number(quick_scene: Scene) -> None:
    book = quick_scene.book()
    stream = simulate(1000, 20, rate=1.0)
    now = label_asked(book, stream)
    before = quick_scene.watch(now).window()
    with book.engine.begin() as connection:
        erased = [{"e": float(error), "s": unit} for unit, error in enumerate(stream.error)]
        connection.execute(text("UPDATE label SET value = NULL, error = :e, erased = 1 WHERE sequence = :s"), erased)
        connection.execute(text("UPDATE item SET evidence = NULL, erased = 1"))
    same(before, quick_scene.watch(now).window())


def test_units_of_a_model_that_nobody_told_of_are_an_error_not_a_crash(quick_scene: Scene) -> None:
    book = quick_scene.book(deploy=False)
    stream = simulate(100, 26, rate=1.0)
    now = label_asked(book, stream)
    watch = quick_scene.watch(now)
    assert watch.monitor.snapshot.windows == ()
    assert watch.monitor.snapshot.errors["no_deployment"] > 0


def test_wrong_propensities_are_noticed(quick_scene: Scene) -> None:
    """The log says one in twenty; one in five was drawn."""
    stream = simulate(20_000, 27, rate=0.2)
    wrong = Stream(**{**stream.__dict__, "propensity": np.where(stream.deferred, 1.0, 0.05)})
    now = label_asked(quick_scene.book(), wrong)
    assert "mismatch" in words(quick_scene.watch(now).window())
    assert "mismatch" in words(quick_scene.watch(now, exact_units=0).window("1d"))


def test_answers_that_no_label_can_stand_for_are_noticed(quick_scene: Scene) -> None:
    stream = simulate(20_000, 28, rate=0.2)
    blind = Stream(**{**stream.__dict__, "propensity": np.where(stream.asked.size and stream.audited, 0.2, 0.0)})
    blind = Stream(**{**blind.__dict__, "propensity": np.where(stream.deferred, 1.0, blind.propensity)})
    now = label_asked(quick_scene.book(), blind)
    assert "positivity" in words(quick_scene.watch(now).window())
    assert "positivity" in words(quick_scene.watch(now, exact_units=0).window("1d"))
