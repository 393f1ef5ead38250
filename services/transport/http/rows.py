"""JSON bodies of tabular tasks."""

from collections.abc import Mapping
from typing import Any

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
from services.transport.http.row_body import VARIANTS, RowsBody
from services.transport.http.row_reader import reader
from services.transport.http.schema import row_parts
from services.transport.http.struct_schema import variants


def row_binding(description: Description, intervals: Mapping[str, IntervalTable | None]) -> HttpBinding:
    """Return the HTTP binding of a task whose items are rows."""

    assert description.schema is not None
    names = tuple(head.name for head in description.heads)
    fields = (*ORIGIN_OF_ALL, *head_answer.answered(description.heads), head_answer.SHIFTED_INPUTS)
    write = writer(fields)

    def answer(answers: list[Portion]) -> dict[str, Any]:
        (portion,) = answers
        return write(
            {
                "model": portion.model,
                "profile": portion.profile,
                "recorded": portion.recorded,
                "purpose": portion.purpose,
                **{head: _head(portion, head, intervals[head]) for head in portion.verdicts},
                "shifted_inputs": shifted_inputs(portion.payload.departures(portion.verdicts), description),
            }
        )

    return HttpBinding(
        read_json=reader(names, description.schema),
        answer_json=answer,
        request_schema=variants(RowsBody, VARIANTS, row_parts(description)),
        response_schema=answer_schema(fields),
    )


def shifted_inputs(departures: Departures, description: Description) -> dict[str, list[Any]]:
    """Return the inputs that make rows unlike training data, as columns of equal length; unknown numbers are NaN."""
    assert description.schema is not None
    features, columns = description.schema.features, departures.columns.tolist()
    ranges = {column: description.trained_range(column) for column in set(columns)}
    return {
        "row": departures.rows.tolist(),
        "column": [features[column].name for column in columns],
        "unit": [features[column].unit for column in columns],
        "value": departures.values.tolist(),
        "trained_lower": [ranges[column][0] for column in columns],
        "trained_upper": [ranges[column][1] for column in columns],
        "deviations": departures.deviations.tolist(),
        "expected": departures.expected.tolist(),
    }


def _head(portion: Portion, head: str, intervals: IntervalTable | None) -> dict[str, Any]:
    record = head_answer.record(portion, head)
    if "mean" in record:
        record["variance"] = record["total"]
        if intervals is not None:
            record["intervals"] = {"levels": intervals.levels, "multipliers": intervals.multipliers}
        return record
    probabilities = record["probabilities"]
    known = np.isfinite(probabilities).all(axis=1).tolist()
    best = probabilities.argmax(axis=1).tolist()
    record["class"] = [best_class if finite else None for best_class, finite in zip(best, known, strict=True)]
    return record
