"""Both heads of weather in Label Studio: each has a project of its own, of numbers or of classes."""

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from services.runtime.errors import InvalidInput
from services.transport.label_studio.converter import StudioHead
from services.transport.label_studio.rows import ROWS
from tests.models.weather.tiny import Tiny, table
from tests.services.review.studio import Json, annotated, answer, command, outcomes, studio_beside
from tests.services.weather import serving


async def test_heads_have_projects_of_their_own(tiny: Tiny, tmp_path: Path) -> None:
    settings: Json = {"target_retention": 0.1, "drafts": True, "keep_payload": "on"}
    async with serving(tiny.trees, tmp_path / "home", **settings) as served:
        answered = await served.answer(np.asarray(table(40, 31, warmer=6.0).features, np.float32))
        async with studio_beside("weather", served.http, tmp_path) as studio:
            code, _, errors = await command(
                "review", "export", "weather", "-o", str(tmp_path / "x"), "--url", studio.url
            )
            assert (code, "temperature, precipitation" in errors) == (1, True)
            config = tmp_path / "config.xml"
            rain = await studio.exported("--head", "precipitation", "--count", "1", "--config", str(config))
            names = [choice.attrib["value"] for choice in ElementTree.fromstring(config.read_text()).iter("Choice")]
            warm = await studio.exported("--head", "temperature", "--count", "1", name="warm.json")
            drafts = await studio.exported("--head", "precipitation", "--queue", "drafts", name="drafts.json")
            (drafted,) = drafts[0]["predictions"][0]["result"][0]["value"]["choices"]
            assert drafted in names
            filled = [
                annotated(rain[0], answer("choices", "columns", {"choices": [names[3]]})),
                annotated(warm[0], answer("number", "columns", {"number": -2.5})),
                annotated(drafts[0], answer("choices", "columns", {"choices": [drafted]})),
            ]
            assert outcomes(await studio.imported(filled)) == ["accepted"] * 3
            assert outcomes(await studio.imported(filled)) == ["duplicate"] * 3
        units = [
            unit for head in answered.values() if isinstance(head, dict) for unit in head.get("prediction_ids", [])
        ]
        views = (await served.http.post("/v1/resolutions", json={"units": units})).json()["resolutions"]
    values = [view["value"] for view in views if view["status"] == "resolved"]
    assert sorted(values) == sorted([3, names.index(drafted), -2.5])


def test_classes_without_names_are_numbers() -> None:
    head = StudioHead("kind", "categorical", "1", "kind", classes=3)
    chosen = [answer("choices", "columns", {"choices": ["2"]})]
    assert ROWS.value(head, {}, chosen) == 2
    assert ROWS.predictions(head, {}, 1)[0][0]["value"] == {"choices": ["1"]}
    for name in ("3", "-1", "two", "²"):
        with pytest.raises(InvalidInput):
            ROWS.value(head, {}, [answer("choices", "columns", {"choices": [name]})])
