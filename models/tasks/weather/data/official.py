"""Official weather files, CSV or Parquet: six columns of metadata and labels, then 123 features, matched by name.

    129 columns    metadata first: time, latitude, longitude, temperature, class code, climate; then the features
    126 columns    the full set: no latitude, longitude and climate
    123 columns    ``*_no_meta``: features only

Class codes 0, 10 … 80 are the classes 0 to 8. An empty cell or NaN is a missing value, as -9999 is in
``gfs_soil_temperature``. Files are read and written in pieces; further columns are ignored.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.evaluation.files import need
from models.evaluation.table import column_names, read_pieces
from models.evaluation.unit_errors import BadFile
from models.schema import Feature, Schema
from models.tasks.weather.data import dummies
from models.tasks.weather.data.features import (
    CLIMATE,
    FACT_CLASS,
    FACT_LATITUDE,
    FACT_LONGITUDE,
    FACT_TEMPERATURE,
    FACT_TIME,
    FEATURES,
    METADATA,
    NAMES,
)
from models.tasks.weather.data.table import CLIMATES, UNKNOWN, Table, concatenate
from models.tasks.weather.spec import CLASSES, CODE_STEP

LABELS = (FACT_TEMPERATURE, FACT_CLASS)
LAYOUTS: Mapping[str, tuple[str, ...]] = {
    "full": METADATA,
    "placeless": (FACT_TIME, FACT_TEMPERATURE, FACT_CLASS),
    "no_meta": (),
}
"""Metadata before the features, by name of the layout."""
FORMATS = ("csv", "parquet")

_SCHEMA = Schema(FEATURES, METADATA)
_PIECE_BYTES = 1 << 22
_FLOATS = [index for index, feature in enumerate(FEATURES) if not feature.values]
_SOIL = NAMES.index("gfs_soil_temperature")
_PLACE = (
    Feature(FACT_TIME, "s", -1e11, 1e11, "Unix time.", nullable=True),
    Feature(FACT_LATITUDE, "degree", -90.0, 90.0, "", nullable=True),
    Feature(FACT_LONGITUDE, "degree", -180.0, 360.0, "", nullable=True),
    Feature(FACT_TEMPERATURE, "°C", -95.0, 65.0, "", nullable=True),
)


def read(path: Path, *, needed: Iterable[str] = LABELS, partial: bool = False, training: bool = False) -> Table:
    """Read all rows of a file.

    Args:
        needed: metadata that must be present, without gaps; other metadata are read if present.
        partial: whether features may be absent (then NaN), for excerpts; present ones are checked.
        training: whether to accept the two average rows of training files (see ``dummies.found_in``).

    Raises:
        BadFile: a column is missing or duplicated, a cell is not a number, or a value is impossible; the message names
            file, row (from 0), column, value, unit and range.
    """
    tables = list(pieces(path, needed=needed, partial=partial, training=training))
    if not tables:
        raise BadFile(f"{path} has no rows")
    return concatenate(tables)


def pieces(
    path: Path, *, needed: Iterable[str] = LABELS, partial: bool = False, training: bool = False
) -> Iterator[Table]:
    """Yield the rows of ``read`` in pieces of about ten thousand, in the order of the file; raises like ``read``."""
    have = column_names(path)
    needed = tuple(needed)
    _check_names(path, have, needed, partial)
    present = [name for name in NAMES if name in have]
    beside = [name for name in METADATA if name in have]
    numeric = [*present, *(name for name in beside if name != CLIMATE)]
    start = 0
    for columns in read_pieces(path, numeric, [CLIMATE] if CLIMATE in beside else [], piece_bytes=_PIECE_BYTES):
        count = len(columns[numeric[0]])
        features = np.full((count, len(NAMES)), np.nan, np.float32)
        with np.errstate(over="ignore"):  # values too large for float32 become infinite, and are refused
            for name in present:
                features[:, _SCHEMA.position[name]] = columns[name]
        table = _with_metadata(path, columns, features, start, needed)
        _check(path, table, start, [_SCHEMA.position[name] for name in present], training)
        yield table
        start += count


class Writer:
    """Writer of rows to one file, piece by piece; the file only gets its name when it is complete."""

    def __init__(self, path: Path, layout: str = "full") -> None:
        """Open a CSV file, or a Parquet file if the name ends in ``.parquet``.

        Raises:
            BadFile: pyarrow is missing.
            KeyError: the layout is unknown.
        """
        self.path = path
        self._metadata = LAYOUTS[layout]
        self._hidden = path.with_name(path.name + ".part")
        self._arrow = need("pyarrow", "writing CSV and Parquet")
        wide = {FACT_TIME: self._arrow.float64(), CLIMATE: self._arrow.string()}
        names = [*self._metadata, *NAMES]
        self._schema = self._arrow.schema([(name, wide.get(name, self._arrow.float32())) for name in names])
        self._sink = self._hidden.open("wb")
        if path.suffix == ".parquet":
            parquet = need("pyarrow.parquet", "writing Parquet")
            self._file = parquet.ParquetWriter(self._sink, self._schema, compression="zstd")
        else:
            csv = need("pyarrow.csv", "writing CSV")
            self._sink.write((",".join(names) + "\n").encode())  # pyarrow would quote the names
            options = csv.WriteOptions(include_header=False, quoting_style="none")
            self._file = csv.CSVWriter(self._sink, self._schema, write_options=options)

    def __enter__(self) -> Writer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()
        self._sink.close()
        if error is None:
            self._hidden.replace(self.path)
        else:
            self._hidden.unlink()

    def write(self, table: Table) -> None:
        """Append rows; NaN becomes an empty cell."""
        columns = self._columns(table)
        arrays = [self._arrow.array(columns[field.name], type=field.type, from_pandas=True) for field in self._schema]
        self._file.write_batch(self._arrow.record_batch(arrays, schema=self._schema))

    def _columns(self, table: Table) -> dict[str, NDArray[Any]]:
        codes = np.where(table.precipitation == UNKNOWN, np.nan, table.precipitation.astype(np.float32) * CODE_STEP)
        climates = np.array([*CLIMATES, ""])[np.minimum(table.climate, len(CLIMATES))]
        metadata: dict[str, NDArray[Any]] = {
            FACT_TIME: table.time,
            FACT_LATITUDE: table.latitude,
            FACT_LONGITUDE: table.longitude,
            FACT_TEMPERATURE: table.temperature,
            FACT_CLASS: codes.astype(np.float32),
            CLIMATE: climates,
        }
        by_column = np.ascontiguousarray(table.features.T)
        return {name: metadata[name] for name in self._metadata} | dict(zip(NAMES, by_column, strict=True))


def write(path: Path, tables: Iterable[Table], layout: str = "full") -> None:
    """Write rows to one file, CSV or (by its name) Parquet; ``tables`` may be lazy."""
    with Writer(path, layout) as writer:
        for table in tables:
            writer.write(table)


def _check_names(path: Path, have: list[str], needed: tuple[str, ...], partial: bool) -> None:
    ours = {*NAMES, *METADATA}
    strange = [name for name in have if name not in ours]
    hint = f"; columns that are not of the official format: {', '.join(map(repr, strange[:5]))}" if strange else ""
    missing = [name for name in (*needed, *(() if partial else NAMES)) if name not in have]
    if missing:
        raise BadFile(
            f"{path}: column {missing[0]} is missing ({len(missing)} missing in all, of {len(NAMES)} features and "
            f"{len(needed)} needed metadata){hint}; columns are matched by name"
        )
    if not any(name in have for name in NAMES):
        raise BadFile(f"{path}: none of the {len(NAMES)} features is there{hint}; columns are matched by name")


def _with_metadata(
    path: Path, columns: Mapping[str, NDArray[Any]], features: NDArray[np.float32], start: int, needed: tuple[str, ...]
) -> Table:
    count = len(features)
    numbers = {feature.name: columns.get(feature.name, np.full(count, np.nan)) for feature in _PLACE}
    for feature in _PLACE:
        values = numbers[feature.name]
        wrong = ~((values >= feature.lower) & (values <= feature.upper))
        wrong &= ~np.isnan(values) | (feature.name in needed)
        if wrong.any():
            raise _impossible(path, feature, values, wrong, start)
    f = np.float32
    return Table(
        numbers[FACT_TIME],
        numbers[FACT_LATITUDE].astype(f),
        numbers[FACT_LONGITUDE].astype(f),
        _climates(path, columns.get(CLIMATE), count, start, CLIMATE in needed),
        features,
        numbers[FACT_TEMPERATURE].astype(f),
        _classes(path, columns.get(FACT_CLASS), count, start, FACT_CLASS in needed),
    )


def _climates(path: Path, words: NDArray[Any] | None, count: int, start: int, needed: bool) -> NDArray[np.uint8]:
    codes = np.full(count, UNKNOWN, np.uint8)
    if words is None:
        return codes
    for code, climate in enumerate(CLIMATES):
        codes[words == climate] = code
    wrong = (codes == UNKNOWN) & ((words != "") | needed)
    if wrong.any():
        row = int(wrong.argmax())
        raise BadFile(
            f"{path}: {CLIMATE} = {str(words[row])!r} in row {start + row} is no climate; "
            f"allowed are {', '.join(CLIMATES)}"
        )
    return codes


def _classes(path: Path, codes: NDArray[np.float64] | None, count: int, start: int, needed: bool) -> NDArray[np.uint8]:
    if codes is None:
        return np.full(count, UNKNOWN, np.uint8)
    known = np.isin(codes, CODE_STEP * np.arange(CLASSES))
    wrong = ~known & (~np.isnan(codes) | needed)
    if wrong.any():
        row = int(wrong.argmax())
        allowed = ", ".join(str(CODE_STEP * code) for code in range(CLASSES))
        raise BadFile(
            f"{path}: {FACT_CLASS} = {codes[row]:g} in row {start + row} is no class code; allowed are {allowed}"
        )
    return np.where(known, np.where(known, codes, 0) / CODE_STEP, UNKNOWN).astype(np.uint8)


def _check(path: Path, table: Table, start: int, present: list[int], training: bool) -> None:
    """Refuse impossible values; in average rows of training files, flags and soil temperature are exempt."""
    rows = table.features
    fine = ((rows >= _SCHEMA.lower) & (rows <= _SCHEMA.upper)) | (np.isnan(rows) & _SCHEMA.nullable)
    for index, sentinel in _SCHEMA.sentinels:
        fine[:, index] |= rows[:, index] == sentinel
    for index, values in _SCHEMA.enumerated:
        fine[:, index] &= np.isin(rows[:, index], values)
    absent = np.ones(len(NAMES), bool)
    absent[present] = False
    fine[:, absent] = True
    if fine.all():
        return
    average = dummies.found_in(table)
    if training:
        fine[average, _SOIL] = True
        for index, _ in _SCHEMA.enumerated:
            flags = rows[average, index]
            fine[average, index] = (flags >= 0.0) & (flags <= 1.0)
    wrong = np.argwhere(~fine)
    if len(wrong):
        row, index = (int(value) for value in wrong[0])
        hint = "; an average row of a training file? Read it as one" if average[row] and not training else ""
        raise _impossible(path, FEATURES[index], rows[:, index], ~fine[:, index], start, hint)


def _impossible(
    path: Path, feature: Feature, values: NDArray[Any], wrong: NDArray[np.bool_], start: int, hint: str = ""
) -> BadFile:
    row = int(wrong.argmax())
    allowed = f"{feature.lower:g} to {feature.upper:g} {feature.unit}"
    if feature.values:
        allowed = " or ".join(f"{value:g}" for value in feature.values)
    allowed += "".join(f", or {value:g} where missing" for value in feature.sentinels)
    more = f" ({int(wrong.sum()) - 1} more rows of this piece are like it)" if wrong.sum() > 1 else ""
    return BadFile(
        f"{path}: {feature.name} = {values[row]:g} {feature.unit} in row {start + row} is not possible: allowed are "
        f"{allowed}; correct or convert it{more}{hint}"
    )
