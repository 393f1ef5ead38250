"""Prediction files of the weather task: arrays of both heads, scored tables, and the official submission.

Temperatures are normal distributions, precipitation is class probabilities. The submission has temperatures only: CSV
of ID (from 1), PRED (°C) and UNCERTAINTY (°C²), which the tutorial of the released code writes as
``df_submission.csv`` and packs as ``df_submission.tar.gz``.
"""

import csv
import io
import shutil
import tarfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models.assessment.figures import Rules
from models.evaluation import classification, labels, regression, scored
from models.evaluation.files import read_npz
from models.evaluation.row_files import AddRows, Columns, RowFiles, Submission
from models.evaluation.table import column_names
from models.evaluation.unit_errors import BadFile, ErrorOptions, UnitErrors
from models.tasks.weather.data.features import FACT_CLASS, FACT_TEMPERATURE, METADATA
from models.tasks.weather.spec import CLASSES, CODE_STEP, HEADS, PRECIPITATION, TEMPERATURE

OPTIONS = regression.OPTIONS | {"ground_truth", "head"}
"""Options of ``ErrorOptions`` that apply besides error, limit, groups and convention."""


def read(path: Path, options: ErrorOptions) -> UnitErrors:
    """Read an NPZ file, a table of ``demur score``, or the benchmark's submission.

    NPZ has ``members`` [M, N, 2] (mean °C, variance °C²) or [M, N, 9] (class probabilities), and ``target`` [N].
    ``options.head`` selects a head of a table. The labels of a submission are in the companion ``ground_truth``.

    Raises:
        BadFile: the file is none of these; or see the readers of regression, classification, tables and the submission.
    """
    temperature = regression.Quantity(
        "weather",
        TEMPERATURE.unit,
        TEMPERATURE.acceptable,
        Rules(options.convention),
        lower=TEMPERATURE.lower,
        upper=TEMPERATURE.upper,
        drops_large_variances=True,
    )
    if is_submission(path):
        _refuse(path, options.head is not None, "is a submission, of temperatures", "head")
        return _submission(path, options, temperature)
    _refuse(path, "ground_truth" in options.companions, "holds the labels itself", "ground-truth")
    if scored.is_table(path):
        return _table(path, options, temperature)
    _refuse(path, options.head is not None, "holds one head", "head")
    return _arrays(path, options, temperature)


def _submission(path: Path, options: ErrorOptions, temperature: regression.Quantity) -> UnitErrors:
    truth = labels.read(path, options, FACT_TEMPERATURE)
    ids, mean, uncertainty = read_submission(path)
    by_number = labels.Labels(
        truth.path, [str(row + 1) for row in range(len(truth))], truth.values, truth.shifted, truth.groups
    )
    order = labels.places(path, [str(number) for number in ids.tolist()], by_number)
    return regression.judge_points(path, mean[order], truth, uncertainty[order], options, temperature)


def _table(path: Path, options: ErrorOptions, temperature: regression.Quantity) -> UnitErrors:
    have = column_names(path)
    there = [head.name for head in HEADS if f"{head.name}.uncertainty" in have]
    if not there:
        raise BadFile(f"{path}: no head is there: columns such as {TEMPERATURE.name}.uncertainty are needed")
    name = options.head or there[0]
    if name not in there:
        raise BadFile(f"{path}: --head {name} is not there; the file has {', '.join(there)}")
    if name == PRECIPITATION.name:
        _refuse(path, options.bins is not None, "holds classes, which have no calibration bins", "bins")
        return classification.read_scored(path, options, "weather", FACT_CLASS, f"{name}.", CLASSES, CODE_STEP)
    return regression.read_scored(path, options, temperature, FACT_TEMPERATURE, f"{name}.")


def _arrays(path: Path, options: ErrorOptions, temperature: regression.Quantity) -> UnitErrors:
    arrays = read_npz(path)
    members = arrays.get("members")
    if members is not None and members.ndim == 3 and members.shape[2] == CLASSES:
        _refuse(path, options.bins is not None, "holds classes, which have no calibration bins", "bins")
        return classification.read_as(path, options, "weather", arrays)
    if members is not None and members.ndim == 3 and members.shape[2] != 2:
        raise BadFile(
            f"{path}: members has the shape {list(members.shape)}; [M, N, 2] (mean °C, variance °C²) or "
            f"[M, N, {CLASSES}] (probabilities of the precipitation classes) is needed"
        )
    return regression.read_as(path, options, temperature, arrays)


def _refuse(path: Path, wrong: bool, why: str, option: str) -> None:
    if wrong:
        raise BadFile(f"{path} {why}: leave --{option} out")


NAME, MEMBER = "df_submission.tar.gz", "df_submission.csv"
_COLUMNS = ("ID", "PRED", "UNCERTAINTY")
_ARCHIVES = (".tar.gz", ".tgz")


@contextmanager
def opened(path: Path) -> Iterator[AddRows]:
    """Open a submission that is written row by row.

    The file exists once the block ends. After an error it has the rows before it, unless there are none.

    Raises:
        ValueError: the name ends neither in ``.tar.gz`` nor in ``.csv``.
    """
    archive = path.name.endswith(_ARCHIVES)
    if not archive and path.suffix != ".csv":
        raise ValueError(f"{path}: the submission is {NAME}, or its {MEMBER}; give a name that ends in .tar.gz or .csv")
    part = path.with_name(path.name + ".part")
    with part.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(_COLUMNS)
        header = file.tell()

        def add(rows: NDArray[np.intp], ids: Sequence[str | int], columns: Columns) -> int:
            mean, uncertainty = columns["temperature.mean"], columns["temperature.uncertainty"]
            known = np.flatnonzero(np.isfinite(mean) & np.isfinite(uncertainty))
            numbers = (rows[known] + 1).tolist()
            writer.writerows(zip(numbers, mean[known].tolist(), uncertainty[known].tolist(), strict=True))
            return len(mean) - len(known)

        try:
            yield add
        except BaseException:
            if file.tell() == header:
                part.unlink()
            raise
        finally:
            file.flush()
            if part.exists():
                _finish(part, path, archive)


def _finish(part: Path, path: Path, archive: bool) -> None:
    if not archive:
        part.replace(path)
        return
    packed = path.with_name(path.name + ".packed.part")
    with tarfile.open(packed, "w:gz") as tar, part.open("rb") as file:
        info = tarfile.TarInfo(MEMBER)  # without user names
        info.size = part.stat().st_size
        info.mtime = int(part.stat().st_mtime)
        tar.addfile(info, file)
    packed.replace(path)
    part.unlink()


FILES = RowFiles(
    labels=METADATA,
    named_heads=True,
    submission=Submission(NAME, "ID, PRED and UNCERTAINTY of temperatures, packed as tar.gz or plain .csv", opened),
)


def is_submission(path: Path) -> bool:
    """Return whether a file is a submission, by its name, or for CSV by its header."""
    if path.name.endswith(_ARCHIVES):
        return True
    if path.suffix != ".csv":
        return False
    try:
        with path.open(encoding="utf-8-sig", errors="replace") as file:
            return next(csv.reader([file.readline(1 << 16)]), []) == list(_COLUMNS)
    except OSError:
        return False


def read_submission(path: Path) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Read ids (from 1), temperatures (°C) and uncertainties (°C²) of a submission, in the order of the file.

    Raises:
        BadFile: the file is not a submission; a cell is not a finite number; an id occurs twice or is below 1.
    """
    try:
        rows = list(csv.reader(io.StringIO(_text(path))))
    except (OSError, tarfile.TarError, UnicodeDecodeError, csv.Error, EOFError) as error:
        raise BadFile(f"{path} cannot be read as a submission: {error}") from error
    if not rows or rows[0] != list(_COLUMNS) or len(rows) == 1:
        raise BadFile(f"{path}: the columns {', '.join(_COLUMNS)} are needed, and a row for each of the input")
    try:
        table = np.array(rows[1:], np.float64)
    except ValueError as error:
        raise BadFile(f"{path}: {error}; each row has three numbers") from error
    if table.ndim != 2 or table.shape[1] != 3:
        raise BadFile(f"{path}: rows have the shape {list(table.shape)}; {', '.join(_COLUMNS)} are needed")
    if not np.isfinite(table).all():
        row, column = (int(place) for place in np.argwhere(~np.isfinite(table))[0])
        raise BadFile(
            f"{path}: row {row} (from 0): {_COLUMNS[column]} is {table[row, column]}; finite numbers are needed"
        )
    ids = table[:, 0].astype(np.int64)
    if (ids != table[:, 0]).any() or ids.min() < 1 or len(np.unique(ids)) < len(ids):
        raise BadFile(f"{path}: ID must be the number of a row of the input, from 1, each once")
    return ids, table[:, 1], table[:, 2]


def _text(path: Path) -> str:
    if not path.name.endswith(_ARCHIVES):
        return path.read_text(encoding="utf-8-sig")
    with tarfile.open(path, "r:gz") as tar:
        names = [member.name for member in tar.getmembers() if member.isfile() and member.name.endswith(".csv")]
        if len(names) != 1:
            raise BadFile(f"{path} holds {len(names)} CSV files; one, {MEMBER}, is needed")
        file = tar.extractfile(names[0])
        assert file is not None
        content = io.BytesIO()
        shutil.copyfileobj(file, content)
        return content.getvalue().decode("utf-8-sig")
