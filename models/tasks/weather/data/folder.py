"""Folder of official files of the weather task, one CSV or Parquet file per split."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from models.building import Labelled
from models.evaluation.unit_errors import BadFile
from models.tasks.weather.data import official, partition
from models.tasks.weather.data.table import Table
from models.tasks.weather.spec import PRECIPITATION, TEMPERATURE


def read_files(directory: Path, splits: Sequence[str] = partition.SPLITS) -> dict[str, Labelled]:
    """Read the tables of a directory as labelled rows; raises like ``read_tables``."""
    return {name: labelled(table) for name, table in read_tables(directory, splits).items()}


def read_tables(directory: Path, splits: Sequence[str] = partition.SPLITS) -> dict[str, Table]:
    """Read the official files of some splits of a directory, CSV or Parquet; ``train`` with its average rows.

    Raises:
        FileNotFoundError: train or dev_in is missing and in ``splits``.
        BadFile: see ``official.read``; or a split exists in both formats.
    """
    files: dict[str, Path] = {}
    for name in splits:
        paths = [path for extension in official.FORMATS if (path := directory / f"{name}.{extension}").exists()]
        if len(paths) > 1:
            raise BadFile(f"{directory} holds {paths[0].name} and {paths[1].name}; take one of them away")
        if paths:
            files[name] = paths[0]
    needed = [name for name in ("train", "dev_in") if name in splits]
    if missing := [name for name in needed if name not in files]:
        raise FileNotFoundError(
            f"{directory} holds no {missing[0]}.csv or .parquet; needed: {' and '.join(needed)} (see `demur data`)"
        )
    return {name: official.read(path, training=name == "train") for name, path in files.items()}


def labelled(table: Table) -> Labelled:
    """Return a table as rows with labels of both heads."""
    labels: dict[str, NDArray[Any]] = {TEMPERATURE.name: table.temperature, PRECIPITATION.name: table.precipitation}
    return Labelled(table.features, labels, table.time)
