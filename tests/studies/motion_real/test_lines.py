"""Lines of the page of real traffic, on requests that are made up."""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from models.tasks.motion.errors import request_errors
from studies.motion_real import judge, page
from studies.motion_real.judge import BESIDE, Answers

CITIES = ("Pittsburgh", "Miami")


PAGE = Path(__file__).parents[3] / "docs" / "quality" / "motion-real.md"


def made(count: int = 12) -> list[Any]:
    """Cars at 10 m/s that go straight on, every third one stands."""
    steps = np.arange(1, 26) * 0.2
    cars = []
    for number in range(count):
        speed = 0.0 if number % 3 == 0 else 10.0
        future = np.stack([speed * steps, np.zeros(25)], axis=1).astype(np.float32)
        cars.append(SimpleNamespace(city=CITIES[number % 2], future=future, agent=SimpleNamespace(speed=speed)))
    return cars


def judged(real: list[Any]) -> Answers:
    future = np.stack([car.future for car in real])
    shift = np.arange(len(real))[:, None, None, None] / 10
    errors = request_errors(future, future[:, None] + shift, np.ones((len(real), 1)))
    rank = np.arange(len(real), dtype=np.float32)
    return Answers(errors, rank, rank < 9, rank > 7, rank > 10)


def test_going_straight_on_is_exact_for_those_who_do() -> None:
    real = made()
    assert max(values.max() for values in judge.steady(real).values()) < 1e-9
    real[1].agent.speed = 11.0
    assert judge.steady(real)["minfde"][1] == pytest.approx(5.0)


def test_lines_are_of_all_of_the_moving_and_of_cities() -> None:
    real = made()
    lines = {line.group: line for line in judge.lines(real, judged(real))}
    assert set(lines) == {"all", "moving", "standing", *CITIES, *(f"{city}, moving" for city in CITIES)}
    assert lines["moving"].requests == 8
    assert lines["all"].answered == 0.75
    assert lines["all"].cnll_answered < lines["all"].means["cnll"] < lines["all"].cnll_deferred
    assert lines["all"].unfamiliar == pytest.approx(1 / 12)
    assert lines["all"].figures.r_auc < lines["all"].figures.r_auc_random


def test_the_page_has_a_table_an_artefact() -> None:
    real = made()
    lines = {name: judge.lines(real, judged(real)) for name in ("bc-5", "dim-5")}
    text = page.document(real, lines, judge.steady(real))
    assert text.count("| Miami, moving | 4 |") == 2
    assert "nan" not in text
    assert str(Path.home()) not in text


def test_the_opening_says_which_requests_the_simulator_was_adjusted_beside() -> None:
    text = page.opening(["Miami", "Moscow", "Austin", "Miami"])
    assert "**The windows of Austin and Miami (3 of 4 requests) are no independent test set" in text
    assert text.endswith("No record says that others were looked at for this: Moscow (1).")
    assert "independent" not in page.opening(["Moscow"])


def test_the_page_opens_as_it_would_be_written() -> None:
    written = PAGE.read_text()
    numbers = re.findall(r"^\| (Austin|Miami|Pittsburgh|Moscow) \| (\d+) \|", written, re.MULTILINE)
    counts = {city: int(number) for city, number in numbers}
    assert len(numbers) == 2 * len(counts)
    opening = page.opening([city for city, number in counts.items() for _ in range(number)])
    assert f"\n\n{opening}\n\n" in written
    assert "1105 of 1107" in opening


def test_the_data_sheet_names_the_same_cities() -> None:
    sheet = (PAGE.parents[1] / "datasheets" / "motion-simulator.md").read_text()
    (caption,) = (line for line in sheet.splitlines() if "black is real traffic" in line)
    assert all(city in caption for city in BESIDE)
