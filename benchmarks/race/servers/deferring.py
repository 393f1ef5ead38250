"""The least that deferral takes, as one function from a request's bytes to an answer's.

It decodes rows, checks their ranges, runs the graph, compares the total variance to a threshold, appends a record to a
journal and encodes. What a service adds to it (audits, a database, units, identities, labels, refusals that name the
field, limits, metrics) is what the race shows beside it.
"""

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.inputs import artefact, direct
from benchmarks.race.courses import HEAD, raced
from demur.v1 import rows_pb2, vessel_pb2
from models.artefact import Artefact
from models.rows import executors

RECORD = np.dtype([("uncertainty", "<f4"), ("deferred", "u1")])


def opened(home: str, threshold: float) -> Callable[[bytes], bytes]:
    """Return the function; its journal is a file in ``home``.

    Raises:
        ValueError: by the function, if a value is outside its range.
    """
    task, source = raced() if "RACE_ARTEFACT" in os.environ else ("vessel", artefact("vessel"))
    if task != "vessel":
        return _of_row_model(source, home, threshold)
    run = direct(source)
    lower, upper = np.float32(source.schema.lower), np.float32(source.schema.upper)
    journal = os.open(Path(home) / "journal", os.O_CREAT | os.O_WRONLY | os.O_APPEND)

    def answer(body: bytes) -> bytes:
        packed = vessel_pb2.VesselPredictRequest.FromString(body).rows.packed
        rows = np.frombuffer(packed.values, "<f4").reshape(packed.row_count, -1)
        if not ((rows >= lower) & (rows <= upper)).all():
            raise ValueError("rows: a value is outside the range of its column")
        mean, data, knowledge = run(rows)
        total = data + knowledge
        records = np.empty(len(rows), RECORD)
        records["uncertainty"], records["deferred"] = total, total > threshold
        os.write(journal, records.tobytes())
        response = vessel_pb2.VesselPredictResponse(recorded=True)
        power = response.power
        power.mean, power.total = mean.tobytes(), total.tobytes()
        power.data, power.knowledge = data.tobytes(), knowledge.tobytes()
        return response.SerializeToString()

    return answer


def _of_row_model(source: Artefact, home: str, threshold: float) -> Callable[[bytes], bytes]:
    """Return the same function for a row model of one head."""
    run = executors.of_artefact(source).plain
    lower, upper = np.float32(source.schema.lower), np.float32(source.schema.upper)
    journal = os.open(Path(home) / "journal", os.O_CREAT | os.O_WRONLY | os.O_APPEND)

    def answer(body: bytes) -> bytes:
        packed = rows_pb2.RowsPredictRequest.FromString(body).rows.packed
        rows = np.frombuffer(packed.values, "<f4").reshape(packed.row_count, -1)
        if not ((rows >= lower) & (rows <= upper)).all():
            raise ValueError("rows: a value is outside the range of its column")
        mean, total = run(rows)
        records = np.empty(len(rows), RECORD)
        records["uncertainty"], records["deferred"] = total, total > threshold
        os.write(journal, records.tobytes())
        response = rows_pb2.RowsPredictResponse(recorded=True)
        head = response.heads[HEAD].gaussian
        head.mean, head.total = mean.tobytes(), total.tobytes()
        return response.SerializeToString()

    return answer
