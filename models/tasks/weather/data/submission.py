"""Official file of temperature predictions: CSV of ID (from 1), PRED (°C) and UNCERTAINTY (°C²), in a tar.gz.

The tutorial of the released code writes ``df_submission.csv`` and packs it as ``df_submission.tar.gz``.
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

from models.evaluation.row_files import AddRows, Columns, RowFiles, Submission
from models.evaluation.unit_errors import BadFile
from models.tasks.weather.data.features import METADATA

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


def read(path: Path) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
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
