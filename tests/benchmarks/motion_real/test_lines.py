"""Lines of the page of real traffic, on requests that are made up."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from benchmarks.motion_real import judge, page
from benchmarks.motion_real.judge import Judged
from models.tasks.motion.errors import request_errors

CITIES = ("Pittsburgh", "Miami")


def made(count: int = 12) -> list[Any]:
    """Cars at 10 m/s that go straight on, every third one stands."""
    steps = np.arange(1, 26) * 0.2
    found = []
    for number in range(count):
        speed = 0.0 if number % 3 == 0 else 10.0
        future = np.stack([speed * steps, np.zeros(25)], axis=1).astype(np.float32)
        found.append(SimpleNamespace(city=CITIES[number % 2], future=future, agent=SimpleNamespace(speed=speed)))
    return found


def judged(real: list[Any]) -> Judged:
    future = np.stack([one.future for one in real])
    shift = np.arange(len(real))[:, None, None, None] / 10
    errors = request_errors(future, future[:, None] + shift, np.ones((len(real), 1)))
    rank = np.arange(len(real), dtype=np.float32)
    return Judged(errors, rank, rank < 9, rank > 7, rank > 10)


def test_going_straight_on_is_exact_for_those_who_do() -> None:
    real = made()
    assert max(values.max() for values in judge.steady(real).values()) < 1e-9
    real[1].agent.speed = 11.0
    assert judge.steady(real)["minfde"][1] == pytest.approx(5.0)


def test_lines_are_of_all_of_the_moving_and_of_cities() -> None:
    real = made()
    lines = {one.group: one for one in judge.lines(real, judged(real))}
    assert set(lines) == {"all", "moving", "standing", *CITIES, *(f"{city}, moving" for city in CITIES)}
    assert lines["moving"].requests == 8
    assert lines["all"].answered == 0.75
    assert lines["all"].cnll_answered < lines["all"].means["cnll"] < lines["all"].cnll_deferred
    assert lines["all"].unfamiliar == pytest.approx(1 / 12)
    assert lines["all"].figures.r_auc < lines["all"].figures.r_auc_random


def test_the_page_has_a_table_an_artefact() -> None:
    real = made()
    found = {name: judge.lines(real, judged(real)) for name in ("bc-5", "dim-5")}
    text = page.document(real, found, judge.steady(real))
    assert text.count("| Miami, moving | 4 |") == 2
    assert "nan" not in text
    assert str(Path.home()) not in text
