"""Outputs of members are kept for the model files and the rows that they are of."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray

from models.artefact import ArtefactError
from models.building import Labelled
from models.executors.members import MemberExecutor, Members
from studies.weather_tables import served
from studies.weather_tables.served import ROWS, Work


@dataclass
class Doubling:
    """Executor of two members that counts the rows that it is given."""

    rows: list[int] = field(default_factory=list)
    heads: tuple[str, ...] = ("temperature",)

    def __call__(self, rows: NDArray[np.float32]) -> Members:
        self.rows.append(len(rows))
        return {"temperature": np.stack([rows[:, :2], 2 * rows[:, :2]])}

    def measure(self, rows: NDArray[np.float32]) -> None:
        pass


def table(count: int, first: float = 0.0) -> Labelled:
    features = np.arange(count * 3, dtype=np.float32).reshape(count, 3) + np.float32(first)
    return Labelled(features, {"temperature": np.zeros(count)})


def test_outputs_are_of_all_rows_in_order_and_kept(tmp_path: Path) -> None:
    executor, rows = Doubling(), table(ROWS + 5)
    opened: list[MemberExecutor] = []

    def once() -> MemberExecutor:
        opened.append(executor)
        return executor

    outputs = Work(tmp_path / "work").outputs("two", once, {"dev_in": rows})
    assert executor.rows == [ROWS, 5]
    np.testing.assert_array_equal(outputs["dev_in"]["temperature"][1], 2 * rows.features[:, :2])
    again = Work(tmp_path / "work").outputs("two", once, {"dev_in": rows})
    np.testing.assert_array_equal(again["dev_in"]["temperature"], outputs["dev_in"]["temperature"])
    assert len(opened) == 1


@pytest.mark.parametrize("change", [("other", 0.0), ("two", 1.0)], ids=["other members", "other rows"])
def test_other_members_or_rows_are_computed_anew(tmp_path: Path, change: tuple[str, float]) -> None:
    executor = Doubling()
    opened: Callable[[], MemberExecutor] = lambda: executor  # noqa: E731
    work = Work(tmp_path)
    work.outputs("two", opened, {"dev_in": table(4)})
    outputs = work.outputs(change[0], opened, {"dev_in": table(4, change[1])})
    assert executor.rows == [4, 4]
    np.testing.assert_array_equal(outputs["dev_in"]["temperature"][0], table(4, change[1]).features[:, :2])


def test_rows_that_manifests_do_not_name_are_said_to_differ() -> None:
    artefacts = served.read(Path(__file__).resolve().parents[3] / "artefacts" / "weather")
    line = served.rows_line(artefacts, {"train": table(3), "dev_in": table(2)})
    assert "rows of train and dev_in simulated for this page are not those" in line
    artefact = artefacts["catboost-1"]
    own = [msgspec.structs.replace(source, fingerprint=table(3).fingerprint) for source in artefact.manifest.sources]
    manifest = msgspec.structs.replace(artefact.manifest, sources=tuple(own))
    line = served.rows_line({"one": replace(artefact, manifest=manifest)}, {"train": table(3), "dev_in": table(3)})
    assert "bit by bit" in line


def test_a_folder_without_artefacts_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ArtefactError, match="no weather artefacts; make them with"):
        served.read(tmp_path)
