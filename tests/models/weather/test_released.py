"""Released CatBoost baselines: what a file predicts is read off the file, members are in the order of their numbers."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from models.artefact import ArtefactError
from models.tasks.weather.artefact.released import import_released, load_released
from models.tasks.weather.inference import serving
from tests.models.weather.tiny import SCHEMA, Tiny

NAMES = ("seed{}.cbm", "model{}.cbm", "seed_{}.cbm")


@pytest.fixture
def released(tiny: Tiny, tmp_path: Path) -> Path:
    """Both heads in folders of their own, as ``seed1`` to ``seed3``, and files that are no models."""
    for head in ("temperature", "precipitation"):
        (tmp_path / head).mkdir()
        for number in (1, 2, 3):
            shutil.copy(tiny.boosted.files[f"{head}-{number}.cbm"], tmp_path / head / f"seed{number}.cbm")
    (tmp_path / "README.md").write_text("no model")
    (tmp_path / "temperature" / "other.cbm").write_bytes(b"not numbered")
    return tmp_path


def test_both_heads_are_imported_with_their_members_in_order(tiny: Tiny, released: Path, tmp_path: Path) -> None:
    imported = import_released(released, tmp_path / "out", tiny.data, schema=SCHEMA)
    manifest = imported.manifest
    assert imported.tag.startswith("weather-catboost-3:")
    assert manifest.seeds == (1, 2, 3)
    assert [head.name for head in serving.heads(imported)] == ["temperature", "precipitation"]
    assert manifest.heads["temperature"]["cpu-fp32-trees"].retention.units == 800
    mine, theirs = serving.members(tiny.trees)(tiny.rows[:9]), serving.members(imported)(tiny.rows[:9])
    for head, values in mine.items():
        np.testing.assert_array_equal(theirs[head], values)
    assert "licence" in manifest.sources[0].licence


def test_without_calibration_rows_everything_is_deferred_until_a_threshold_is_set(
    released: Path, tmp_path: Path
) -> None:
    assert import_released(released, tmp_path / "out", schema=SCHEMA).manifest.heads == {
        "temperature": {},
        "precipitation": {},
    }


@pytest.mark.parametrize("name", NAMES)
def test_one_head_in_one_folder_by_any_of_the_released_names(tiny: Tiny, tmp_path: Path, name: str) -> None:
    for number in (2, 10, 1):
        source = tiny.boosted.files[f"precipitation-{min(number, 3)}.cbm"]
        shutil.copy(source, tmp_path / name.format(number))
    loaded = load_released(tmp_path, SCHEMA)
    assert loaded.executors[0].models == {
        "precipitation": ("precipitation-1.cbm", "precipitation-2.cbm", "precipitation-10.cbm")
    }
    assert loaded.seeds == (1, 2, 10), "by number, not by letter"


def test_what_is_no_released_ensemble_is_refused(released: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(ArtefactError, match=r"empty: no seed1.cbm, seed2.cbm"):
        load_released(empty, SCHEMA)
    with pytest.raises(ArtefactError, match="takes 8 features, the schema has 123"):
        load_released(released)
    (released / "temperature" / "seed3.cbm").unlink()
    with pytest.raises(ArtefactError, match=r"different members .*temperature: 1, 2"):
        load_released(released, SCHEMA)
    shutil.copy(released / "temperature" / "seed1.cbm", released / "precipitation" / "model9.cbm")
    shutil.copy(released / "temperature" / "seed1.cbm", released / "model9.cbm")
    with pytest.raises(ArtefactError, match=r"both member 9 of temperature; keep one"):
        load_released(released, SCHEMA)
    (released / "model9.cbm").unlink()
    (released / "temperature" / "seed1.cbm").write_bytes(b"damaged")
    with pytest.raises(ArtefactError, match=r"seed1.cbm: no readable CatBoost model"):
        load_released(released, SCHEMA)
