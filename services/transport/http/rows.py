"""JSON bodies of tabular tasks."""

from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np

from models.calibration import IntervalTable
from models.familiarity import Departures
from services.ledger.contract import Portion
from services.request.contract import Description
from services.transport import head_answer
from services.transport.answer import ORIGIN_OF_ALL
from services.transport.binding import HttpBinding
from services.transport.http.answer_json import schema as answer_schema
from services.transport.http.answer_json import writer
from services.transport.http.json_text import Choices, numbers
from services.transport.http.row_body import VARIANTS, RowsBody
from services.transport.http.row_reader import reader
from services.transport.http.schema import row_parts
from services.transport.http.struct_schema import variants


def row_binding(description: Description, intervals: head_answer.IntervalTables) -> HttpBinding:
    """Return the HTTP binding of a task whose items are rows."""

    assert description.schema is not None
    names = tuple(head.name for head in description.heads)
    fields = (*ORIGIN_OF_ALL, *head_answer.answered(description.heads), head_answer.SHIFTED_INPUTS)
    write, shifted = writer(fields), _shifted_inputs(description)

    def answer(answers: list[Portion]) -> dict[str, Any]:
        (portion,) = answers
        tables = head_answer.requested_intervals(portion, intervals)
        return write(
            {
                "model": portion.model,
                "profile": portion.profile,
                "recorded": portion.recorded,
                "purpose": portion.purpose,
                **{head: _head(portion, head, tables.get(head)) for head in portion.verdicts},
                "shifted_inputs": shifted(portion.payload.departures(portion.verdicts)),
            }
        )

    return HttpBinding(
        read_json=reader(names, description.schema),
        answer_json=answer,
        request_schema=variants(RowsBody, VARIANTS, row_parts(description)),
        response_schema=answer_schema(fields),
    )


def _shifted_inputs(description: Description) -> Callable[[Departures], dict[str, msgspec.Raw]]:
    """Return a function that writes the inputs that make rows unlike training data, as columns of equal length."""
    assert description.schema is not None
    features = description.schema.features
    ranges = [description.trained_range(column) for column in range(len(features))]
    of_column = {
        "column": Choices(feature.name for feature in features),
        "unit": Choices(feature.unit for feature in features),
        "trained_lower": Choices(lower for lower, _ in ranges),
        "trained_upper": Choices(upper for _, upper in ranges),
    }

    def write(departures: Departures) -> dict[str, msgspec.Raw]:
        named = {name: choices.listed(departures.columns) for name, choices in of_column.items()}
        return {
            "row": numbers(departures.rows),
            "column": named["column"],
            "unit": named["unit"],
            "value": numbers(departures.values),
            "trained_lower": named["trained_lower"],
            "trained_upper": named["trained_upper"],
            "deviations": numbers(departures.deviations),
            "expected": numbers(departures.expected),
        }

    return write


def _head(portion: Portion, head: str, intervals: IntervalTable | None) -> dict[str, Any]:
    record = head_answer.record(portion, head)
    if "mean" in record:
        total, uncertainty = record["total"], portion.verdicts[head].uncertainty
        record["total"] = record["variance"] = text = numbers(total)
        if uncertainty.dtype == total.dtype and uncertainty.tobytes() == total.tobytes():  # also signs of zero
            record["deferral"] = (portion, head, None, text)
        if intervals is not None:
            record["intervals"] = head_answer.interval_record(intervals)
        return record
    probabilities = record["probabilities"]
    known, best = np.isfinite(probabilities).all(axis=1), probabilities.argmax(axis=1).tolist()
    if not known.all():
        best = [best_class if finite else None for best_class, finite in zip(best, known.tolist(), strict=True)]
    record["class"] = best
    return record
