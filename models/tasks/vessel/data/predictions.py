"""Prediction files of the vessel task: normal distributions, scored tables, and the official submission.

The released evaluation reads the submission as ``vessel-power-estimates.json``: a JSON list of ``{time_id, power,
uncertainty}``, kW and kW², a record for each row of the input (``merchant-vessel-features.json``), no value missing.
"""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models.evaluation import labels, regression, scored
from models.evaluation.row_files import AddRows, Columns, RowFiles, Submission
from models.evaluation.unit_errors import BadFile, ErrorOptions, UnitErrors
from models.tasks.vessel.spec import POWER, rules

OPTIONS = regression.OPTIONS | {"ground_truth"}
"""Options of ``ErrorOptions`` that apply besides error, limit, groups and convention."""


def read(path: Path, options: ErrorOptions) -> UnitErrors:
    """Read an NPZ file, a table of ``demur score``, or the benchmark's submission (``.json``).

    NPZ has ``members`` [M, N, 2] (mean kW, variance kW²) and ``target`` [N] (kW). The labels of a submission are in the
    companion ``ground_truth``.

    Raises:
        BadFile: see the readers of regression, of tables and of the submission.
    """
    power = regression.Quantity("vessel", POWER.unit, POWER.acceptable, rules(options.convention), lower=POWER.lower)
    if path.suffix == ".json":
        return _submission(path, options, power)
    if "ground_truth" in options.companions:
        raise BadFile(f"{path} holds the labels itself: leave --ground-truth out, it is for submissions (.json)")
    if scored.is_table(path):
        return regression.read_scored(path, options, power, LABEL)
    return regression.read_as(path, options, power)


def _submission(path: Path, options: ErrorOptions, power: regression.Quantity) -> UnitErrors:
    truth = labels.read(path, options, LABEL)
    ids, mean, uncertainty = read_submission(path)
    order = labels.places(path, ids, truth)
    return regression.judge_points(path, mean[order], truth, uncertainty[order], options, power)


NAME = "vessel-power-estimates.json"
LABEL = "power"
_FIELDS = ("time_id", "power", "uncertainty")
_WHOLE = re.compile(r"-?\d{1,18}")


@contextmanager
def opened(path: Path) -> Iterator[AddRows]:
    """Open a submission that is written row by row.

    The file exists once the block ends. After an error it has the rows before it, unless there are none.

    Raises:
        ValueError: the name does not end in ``.json``.
    """
    if path.suffix != ".json":
        raise ValueError(f"{path}: the submission is a JSON file such as {NAME}; give a name that ends in .json")
    part = path.with_name(path.name + ".part")
    with part.open("w", encoding="utf-8") as file:
        before = "["

        def add(rows: NDArray[np.intp], ids: Sequence[str | int], columns: Columns) -> int:
            nonlocal before
            known = np.isfinite(columns["mean"]) & np.isfinite(columns["uncertainty"])
            for row in np.flatnonzero(known).tolist():
                record = {
                    "time_id": _identity(ids[row]),
                    "power": float(columns["mean"][row]),
                    "uncertainty": float(columns["uncertainty"][row]),
                }
                file.write(f"{before}\n{json.dumps(record)}")
                before = ","
            return len(known) - int(np.count_nonzero(known))

        try:
            yield add
        except BaseException:
            if before == "[":
                part.unlink()
            raise
        finally:
            file.write("\n]\n" if before == "," else "[]\n")
            file.flush()
            if part.exists():
                part.replace(path)


FILES = RowFiles(
    labels=(LABEL,),
    submission=Submission(NAME, "a JSON list of {time_id, power, uncertainty}", opened),
)


def read_submission(path: Path) -> tuple[list[str], NDArray[np.float64], NDArray[np.float64]]:
    """Read ids, powers (kW) and uncertainties (kW²) of a submission, in the order of the file.

    Raises:
        BadFile: the file is not such a list; a record lacks a field or has a value that is not a finite number; an id
            occurs twice.
    """
    try:
        records = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise BadFile(f"{path} cannot be read as JSON: {error}") from error
    if not isinstance(records, list) or not records:
        raise BadFile(f"{path}: a list of {{{', '.join(_FIELDS)}}} is needed, one for each row of the input")
    ids: list[str] = []
    values = np.empty((2, len(records)))
    for number, record in enumerate(records):
        if not isinstance(record, dict) or any(field not in record for field in _FIELDS):
            raise BadFile(f"{path}: record {number} (from 0) is {str(record)[:80]}; {', '.join(_FIELDS)} are needed")
        ids.append(str(record["time_id"]))
        for place, field in enumerate(_FIELDS[1:]):
            value = record[field]
            if isinstance(value, bool) or not isinstance(value, int | float) or not np.isfinite(value):
                raise BadFile(f"{path}: record {number} (from 0): {field} is {value!r}; a finite number is needed")
            values[place, number] = value
    if len(set(ids)) < len(ids):
        raise BadFile(f"{path}: a time_id occurs twice; each row of the input has one record")
    return ids, values[0], values[1]


def _identity(key: str | int) -> str | int:
    """Return the text of an integer as an integer, as in the benchmark's input."""
    return int(key) if isinstance(key, str) and _WHOLE.fullmatch(key) and str(int(key)) == key else key
