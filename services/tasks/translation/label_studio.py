"""Sentences in Label Studio: a text, and a field for its translation."""

from collections.abc import Sequence
from typing import Any
from xml.etree.ElementTree import SubElement

from services.runtime.errors import UnsupportedMediaType
from services.tasks.translation.task import TranslationTask
from services.transport.http.body import without_parameters
from services.transport.label_studio import results
from services.transport.label_studio.converter import ClaimedInput, Data, Result, StudioHead

_SHOWN = "source"
_TYPE = without_parameters(TranslationTask.payload_type)


class SentenceConverter:
    """Converter of sentences; see ``services.transport.label_studio.converter``."""

    def config(self, head: StudioHead) -> str:
        root = results.view(head.label)
        # a text that begins as an address does is shown, not fetched
        SubElement(root, "Text", name=_SHOWN, value=f"${_SHOWN}", valueType="text")
        results.control(root, "TextArea", _SHOWN, rows="4", maxSubmissions="1", editable="true", required="true")
        return results.xml(root)

    def data(self, head: StudioHead, source: ClaimedInput) -> dict[str, Any]:
        if without_parameters(source.media_type) != _TYPE:
            raise UnsupportedMediaType.about("input", source.media_type, code="content_type", allowed=_TYPE)
        return {_SHOWN: source.content.decode()}

    def value(self, head: StudioHead, data: Data, annotated: Sequence[Result]) -> object:
        return results.first_of(results.single(annotated, "textarea"))

    def predictions(self, head: StudioHead, data: Data, draft: object) -> list[list[dict[str, Any]]]:
        texts = draft.get("texts") or [] if isinstance(draft, dict) else []
        return [[results.result("textarea", _SHOWN, {"text": [text]})] for text in texts]


SENTENCES = SentenceConverter()
