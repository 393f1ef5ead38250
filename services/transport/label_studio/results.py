"""Results of annotations, and the labelling configurations in which they are given."""

import base64
import math
from collections.abc import Sequence
from typing import Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from services.runtime.errors import InvalidInput, shortened
from services.transport.label_studio.converter import Result

CONTROL = "label"
"""Name of the tag by which annotators give the label."""
_SHOWN = 60


def view(question: str) -> Element:
    """Return the root of a configuration, with the meaning of the label as its heading."""
    root = Element("View")
    SubElement(root, "Header", value=question)
    return root


def control(root: Element, tag: str, shown: str, **attributes: str) -> Element:
    """Add the tag by which the label is given for the shown object."""
    return SubElement(root, tag, {"name": CONTROL, "toName": shown} | attributes)


def xml(root: Element) -> str:
    """Return a configuration as text; what comes from callers is escaped."""
    indent(root)
    return tostring(root, encoding="unicode") + "\n"


def result(kind: str, shown: str, value: dict[str, Any], number: int = 0, **more: Any) -> dict[str, Any]:
    """Return a result of the control; ``number`` tells the results of one annotation apart."""
    head = {"id": f"{CONTROL}-{number}", "from_name": CONTROL, "to_name": shown, "type": kind}
    return head | {"value": value} | more


def of_control(results: Sequence[Result], kind: str) -> list[Result]:
    """Return the results of the control, which are all of one type.

    Raises:
        InvalidInput: one has another type, or no value.
    """
    own: list[Result] = [one for one in results if isinstance(one, dict) and one.get("from_name") == CONTROL]
    for one in own:
        if one.get("type") != kind or not isinstance(one.get("value"), dict):
            raise bad_label(
                one.get("type"), f"must be a result of the type {kind}, as the exported configuration gives"
            )
    return own


def single(results: Sequence[Result], kind: str) -> Any:
    """Return what the only result of the control holds under the name of its type.

    Raises:
        InvalidInput: there are none or several.
    """
    own = of_control(results, kind)
    if len(own) != 1:
        raise bad_label(len(own), f"must be one result of the type {kind} in an annotation", "results")
    name = {"textarea": "text"}.get(kind, kind)
    return own[0]["value"].get(name)


def first_of(value: Any) -> str:
    """Return the only text of a list of texts; Label Studio gives choices and texts as lists.

    Raises:
        InvalidInput: there are none or several.
    """
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or len(texts) != 1 or not isinstance(texts[0], str):
        raise bad_label(value, "must be one text")
    return texts[0]


def finite(value: Any, field: str = "value") -> float:
    """Return a JSON number as a float.

    Raises:
        InvalidInput: it is none, or too large for one.
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if math.isfinite(number):
            return number
    raise bad_label(value, "must be a number", field)


def bad_label(value: object, problem: str, field: str = "value") -> InvalidInput:
    """Return the error of an annotation that is no label."""
    return InvalidInput.about(field, shortened(repr(value), _SHOWN), problem, code="bad_label")


def data_uri(media_type: str, content: bytes) -> str:
    """Return a file as an address that holds it, so that nobody has to be asked for it."""
    return f"data:{media_type};base64,{base64.b64encode(content).decode()}"
