"""Sentences in Label Studio: texts are shown as they are, and what annotators write is the label."""

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from models.artefact import Artefact
from services.runtime.errors import InvalidInput, UnsupportedMediaType
from services.tasks.translation.label_studio import SENTENCES
from services.transport.label_studio.converter import ClaimedInput, StudioHead
from tests.services.review.studio import Json, annotated, answer, outcomes, studio_beside
from tests.services.tasks.translation.conftest import serving

HEAD = StudioHead("hypotheses", "sequence", "1", 'a "translation" & <b>nothing</b>')
SCRIPT = "The dog sees <img src=x onerror=alert(1)> </script> a house."
WRITTEN = "Собака видит <b>дом</b> & 'кота' 😀."


def written(*texts: Any) -> Json:
    return answer("textarea", "source", {"text": list(texts)})


def test_texts_are_values_and_never_markup() -> None:
    root = ElementTree.fromstring(SENTENCES.config(HEAD))
    assert [element.tag for element in root] == ["Header", "Text", "TextArea"], "Text shows markup, HyperText runs it"
    assert root[0].attrib["value"] == HEAD.label
    assert root[1].attrib["valueType"] == "text", "an address in a text is not fetched"
    data = SENTENCES.data(HEAD, ClaimedInput("text/plain; charset=utf-8", content=SCRIPT.encode()))
    assert data == {"source": SCRIPT}
    assert SENTENCES.value(HEAD, data, [written(WRITTEN)]) == WRITTEN


@pytest.mark.parametrize(
    "results", [[], [written()], [written("a", "b")], [written("a"), written("b")], [written(7)], ["text"], [None]]
)
def test_other_results_are_refused(results: list[Any]) -> None:
    with pytest.raises(InvalidInput):
        SENTENCES.value(HEAD, {}, results)
    with pytest.raises(UnsupportedMediaType):
        SENTENCES.data(HEAD, ClaimedInput("application/x-nifti", content=b""))


async def test_a_sentence_goes_through_the_service(three: Artefact, tmp_path: Path) -> None:
    settings: Json = {"fixed_threshold": -1.0, "keep_payload": "on", "drafts": True}
    async with serving(three, tmp_path / "home", **settings) as served:
        (first,) = (await served.answer(SCRIPT))["sentences"]
        (second,) = (await served.answer("My brother finds a book at night!"))["sentences"]
        async with studio_beside("translation", served.http, tmp_path) as studio:
            tasks = await studio.exported("--count", "1")
            drafts = await studio.exported("--queue", "drafts", name="drafts.json")
            assert {task["data"]["source"] for task in tasks + drafts} == {SCRIPT, "My brother finds a book at night!"}
            proposals = [prediction["result"][0]["value"]["text"] for prediction in drafts[0]["predictions"]]
            assert len(proposals) > 1
            filled = [annotated(tasks[0], written(WRITTEN)), annotated(drafts[0], written(*proposals[0]))]
            assert outcomes(await studio.imported(filled)) == ["accepted", "accepted"]
            assert outcomes(await studio.imported(filled)) == ["duplicate", "duplicate"]
        values = [(await served.resolution(unit["prediction_id"]))["value"] for unit in (first, second)]
    assert set(values) == {WRITTEN, proposals[0][0]}
