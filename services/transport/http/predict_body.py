"""Options that requests for predictions have in common, as JSON and as fields of forms."""

from collections.abc import Mapping
from typing import Annotated

import msgspec

from services.transport.binding import FormField, Options, purpose, stricter
from services.transport.http import decoding
from services.transport.http.components import PURPOSE_OR_NULL
from services.transport.http.struct_schema import documented

_DEFER_ABOVE = "Defer units above this uncertainty, unit of the measure, even if the policy would answer them"
OPTION_FIELDS = {
    "purpose": FormField("decide, explore or replay; absent: decide"),
    "defer_above": FormField(_DEFER_ABOVE),
}
"""Fields of a form that ``form_options`` reads."""


class PredictBody(decoding.JsonBody, kw_only=True):
    """Base of the JSON bodies of requests to a task with one head; the task adds its inputs."""

    purpose: Annotated[str | None, documented(PURPOSE_OR_NULL)] = None
    defer_above: Annotated[float | None, msgspec.Meta(description=_DEFER_ABOVE)] = None

    def options(self, head: str) -> Options:
        """Return the options of a request to a task with this head.

        Raises:
            InvalidInput: an unknown purpose, or a threshold of NaN.
        """
        return Options(purpose(self.purpose), stricter(self.defer_above, (head,)))


def form_options(texts: Mapping[str, str], head: str) -> Options:
    """Return the options in the texts of a form.

    Raises:
        InvalidInput: an unknown purpose, or a threshold that is not a number.
    """
    threshold = texts.get("defer_above")
    number = (
        None if threshold is None else decoding.number("defer_above", threshold, f"the unit of the measure of {head}")
    )
    return Options(purpose(texts.get("purpose")), stricter(number, (head,)))
