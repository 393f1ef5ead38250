"""From answers to live figures: a census and requests for both weather heads, and ``demur evaluate`` says the same."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from models.building import Labelled
from models.live.window_evaluator import WindowResult
from models.tasks.weather.inference import serving as opening
from tests.models.weather.tiny import SCHEMA, Tiny, table
from tests.services.tasks.live import evaluated, watched
from tests.services.weather import Json, Rows, serving

HEADS = ("temperature", "precipitation")


@pytest.fixture(scope="module")
def labelled() -> Labelled:
    return table(300, 31, warmer=6.0)


def rows_of(labelled_rows: Labelled) -> Rows:
    return np.asarray(labelled_rows.features, np.float32)


def given_labels(answer: Json, labelled_rows: Labelled, head: str, source: str = "census") -> list[Json]:
    plain = int if head == "precipitation" else float
    units = answer[head]["prediction_ids"]
    return [
        {"unit": unit, "head": head, "value": plain(value), "source": source}
        for unit, value in zip(units, labelled_rows.labels[head], strict=True)
    ]


def judged(home: Path, **options: Any) -> dict[tuple[str, str], WindowResult]:
    """(head, source) to the judgement of the last day."""
    windows = watched("weather", home, **options).windows
    return {(window.key.head, window.source): window for window in windows if window.window == "1d"}


def figures(tiny: Tiny, labelled_rows: Labelled, head: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> Json:
    """Figures by measure, as ``demur evaluate`` prints them of a file of the same predictions."""
    path = folder / f"{head}.npz"
    np.savez(path, members=opening.members(tiny.trees)(rows_of(labelled_rows))[head], target=labelled_rows.labels[head])
    return evaluated("weather", capsys, "--predictions", path)


@pytest.mark.parametrize("measures", ["", "temperature=varm,precipitation=entropy"])
async def test_live_figures_of_a_census_are_those_of_the_evaluation(
    tiny: Tiny, labelled: Labelled, tmp_path: Path, capsys: pytest.CaptureFixture[str], measures: str
) -> None:
    async with serving(tiny.trees, tmp_path, census="temperature,precipitation", measures=measures) as served:
        answer = await served.answer(rows_of(labelled))
        assert answer["recorded"] is True
        for head in HEADS:
            batch = await served.labels(given_labels(answer, labelled, head))
            assert not batch["rejected"], batch
    live = judged(tmp_path)
    for head in HEADS:
        window = live[head, "census"]
        assert (window.valid, window.units, window.labels) == (True, 300, 300), window.reasons
        known = figures(tiny, labelled, head, tmp_path, capsys)[answer[head]["measure"]]
        for name, theirs in (
            ("r_auc", "r_auc"),
            ("f1_auc", "f1_auc"),
            ("f1_at_95", "f1_at_95"),
            ("mean_error", "error"),
        ):
            assert window.figures[name].estimate == pytest.approx(known[theirs], rel=2e-5), (head, name)
    errors = (np.float64(answer["temperature"]["mean"]) - labelled.labels["temperature"]) ** 2
    assert live["temperature", "census"].figures["mean_error"].estimate == pytest.approx(errors.mean(), rel=1e-5)
    wrong = np.array(answer["precipitation"]["class"]) != labelled.labels["precipitation"]
    assert live["precipitation", "census"].figures["mean_error"].estimate == pytest.approx(wrong.mean())


BAD_LABELS: dict[str, tuple[str, Any, str]] = {
    "a class too many": ("precipitation", 9, "0 to 8"),
    "half a class": ("precipitation", 2.5, "0 to 8"),
    "a code of the files": ("precipitation", 20, "0 to 8"),
    "a negative class": ("precipitation", -1, "0 to 8"),
    "a class as text": ("precipitation", "2", "0 to 8"),
    "true": ("precipitation", True, "0 to 8"),
    "a word for degrees": ("temperature", "warm", "°C"),
}


async def test_labels_that_are_none_are_refused_one_by_one(tiny: Tiny, labelled: Labelled, tmp_path: Path) -> None:
    async with serving(tiny.trees, tmp_path, census="temperature,precipitation") as served:
        answer = await served.answer(rows_of(labelled)[: len(BAD_LABELS) + 2])
        content = [
            {"unit": answer[head]["prediction_ids"][at], "head": head, "value": value}
            for at, (head, value, _) in enumerate(BAD_LABELS.values())
        ]
        fine = [
            {"unit": answer["precipitation"]["prediction_ids"][-1], "head": "precipitation", "value": 8},
            {"unit": answer["precipitation"]["prediction_ids"][-2], "head": "precipitation", "value": 2.0},
            {"unit": answer["temperature"]["prediction_ids"][-1], "head": "temperature", "value": -12},
        ]
        batch = await served.labels(content + fine, source="census")
        rejected = {refusal["index"]: refusal for refusal in batch["rejected"]}
        assert sorted(rejected) == list(range(len(BAD_LABELS)))
        for at, (head, _, words) in enumerate(BAD_LABELS.values()):
            assert words in rejected[at]["error"]["message"]
            assert head in rejected[at]["error"]["message"]
        other = {"unit": answer["precipitation"]["prediction_ids"][0], "head": "temperature", "value": 3.0}
        (rejection,) = (await served.labels([other], source="census"))["rejected"]
        assert "precipitation" in rejection["error"]["message"]
        nameless = {"unit": answer["precipitation"]["prediction_ids"][0], "value": 3}
        response = await served.http.post("/v1/labels", json={"labels": [nameless], "source": "census"})
        payload = response.json()
        assert "temperature, precipitation" in json.dumps(payload, ensure_ascii=False)


async def test_deferred_units_of_a_head_without_a_census_are_asked_about(
    tiny: Tiny, labelled: Labelled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stations tell all temperatures; of precipitation people are asked, about what was deferred or drawn.

    Audits are drawn with a fixed secret: with others, one interval in some twenty misses the share of errors.
    """
    monkeypatch.setattr("services.app.assembly.secrets", SimpleNamespace(randbits=lambda bits: 3))
    monkeypatch.setattr("services.ledger.writer.secrets", SimpleNamespace(token_bytes=lambda count: bytes([3] * count)))
    settings: dict[str, Any] = {"census": "temperature", "audit_rate": 0.5, "target_retention": 0.7}
    async with serving(tiny.trees, tmp_path, **settings) as served:
        answer = await served.answer(rows_of(labelled))
        deferred = {
            unit: label
            for unit, decision, label in zip(
                answer["precipitation"]["prediction_ids"],
                answer["precipitation"]["decision"],
                labelled.labels["precipitation"].tolist(),
                strict=True,
            )
            if decision == "DEFER"
        }
        assert 30 < len(deferred) < 200
        await served.labels(given_labels(answer, labelled, "temperature"))
        by_row = [row.tobytes() for row in rows_of(labelled)]
        done = 0
        while True:
            requests = await served.claimed(count=100, head="precipitation")
            if not requests:
                break
            for request in requests:
                assert request["head"] == "precipitation"
                reply = await served.submitted(request, _label(request, by_row, labelled))
                assert reply.status_code == 200, reply.text
                done += 1
        assert done > len(deferred) + 30, "deferred ones and audits"
        unit, label = next(iter(deferred.items()))
        resolution = await served.resolution(unit)
        assert resolution["value"] == label
        assert isinstance(resolution["value"], int)
    live = judged(tmp_path, estimator="ht")
    window = live["precipitation", "requested"]
    assert window.labels == done
    wrong = np.array(answer["precipitation"]["class"]) != labelled.labels["precipitation"]
    estimate = window.figures["mean_error"]
    assert estimate.low - 1e-9 <= wrong.mean() <= estimate.high + 1e-9
    assert live["temperature", "census"].labels == 300


def _label(request: Json, by_row: list[bytes], labelled: Labelled) -> int:
    """The reviewer sees the inputs, and knows what it was."""
    columns = request["input"]["columns"]
    assert [column["name"] for column in columns] == list(SCHEMA.names)
    shown = np.array([column["value"] for column in columns], np.float64).astype("<f4")
    return int(labelled.labels["precipitation"][by_row.index(shown.tobytes())])


async def test_explored_rows_are_committed_for_both_heads(tiny: Tiny, labelled: Labelled, tmp_path: Path) -> None:
    settings: dict[str, Any] = {"census": "temperature,precipitation", "measures": "precipitation=mi"}
    async with serving(tiny.trees, tmp_path, **settings) as served:
        answer = await served.answer(rows_of(labelled), purpose="explore")
        assert answer["recorded"] is False
        chosen = [unit for head in HEADS for unit in answer[head]["prediction_ids"][:40]]
        for _ in range(2):
            response = await served.http.post("/v1/commit", json={"units": chosen})
            assert response.json() == {"units": 80, "unknown": []}, response.text
        for head in HEADS:
            content = given_labels(answer, labelled, head)[:40]
            assert not (await served.labels(content))["rejected"]
    live = judged(tmp_path)
    for head in HEADS:
        window = live[head, "census"]
        assert (window.units, window.labels) == (40, 40)
    assert live["precipitation", "census"].key.model == f"{tiny.trees.tag}@mi"
    explored = {stream.key: dict(stream.explored) for stream in watched("weather", tmp_path).streams}
    assert {(key.head, key.model): counts for key, counts in explored.items()} == {
        ("temperature", tiny.trees.tag): {"explore": 300},
        ("precipitation", f"{tiny.trees.tag}@mi"): {"explore": 300},
    }
