"""Training of trees: progress, going on where it was, and what is refused."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from models.building import Labelled
from models.executors.trees.model import open_model
from models.schema import Schema
from models.tasks.weather.artefact.ensemble import Ensemble
from models.tasks.weather.spec import HEADS, PRECIPITATION, TEMPERATURE
from models.tasks.weather.training import boosting
from models.tasks.weather.training.boosting import Progress, Settings, Trees, train
from tests.models.weather.tiny import SCHEMA, table

QUICK = Settings(Trees(2, 12, 0.3), Trees(2, 8, 0.3), patience=20, threads=1, borders=16)
DATA = {"train": table(200, 1), "dev_in": table(150, 2)}


def trained(folder: Path, data: dict[str, Labelled] = DATA, settings: Settings = QUICK, members: int = 2) -> Ensemble:
    return train(data, HEADS, SCHEMA, folder, members=members, settings=settings)


def test_members_differ_and_seeds_repeat(tmp_path: Path) -> None:
    original, other = trained(tmp_path / "a"), trained(tmp_path / "b")
    outputs = [
        [
            np.asarray(open_model(ensemble.files[name], head, SCHEMA).native.predict(DATA["dev_in"].features))
            for head in HEADS
            for name in ensemble.executors[0].models[head.name]
        ]
        for ensemble in (original, other)
    ]
    for first, second in zip(*outputs, strict=True):
        np.testing.assert_array_equal(first, second)
    assert not np.array_equal(outputs[0][0], outputs[0][1])
    assert original.seeds == (0, 1)
    assert train(DATA, HEADS, SCHEMA, tmp_path / "c", members=1, seed=7, settings=QUICK).seeds == (7000,)


def test_progress_rises_to_the_end(tmp_path: Path) -> None:
    reports: list[Progress] = []
    train(DATA, HEADS, SCHEMA, tmp_path, members=2, settings=QUICK, progress=reports.append)
    shares = [report.share for report in reports]
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1.0, abs=0.05)
    assert all(report.eta >= 0 for report in reports)
    assert {(report.head, report.member) for report in reports} == {(head.name, n) for head in HEADS for n in range(2)}
    assert str(reports[0]).startswith("temperature member 1/2 tree 1/12  ETA ")


def test_a_training_that_was_cut_off_goes_on(tmp_path: Path) -> None:
    first = trained(tmp_path)
    kept = {path.name: path.stat().st_mtime_ns for path in tmp_path.glob("*.cbm")}
    (tmp_path / "temperature-2.cbm").unlink()
    again = trained(tmp_path, members=3)
    assert again.members == 3
    for name, moment in kept.items():
        assert (first.files[name].stat().st_mtime_ns == moment) == (name != "temperature-2.cbm")
    assert not list(tmp_path.glob("*.part"))


@pytest.mark.parametrize("what", ["rows", "dev", "settings", "features", "virtual"])
def test_members_of_another_training_are_not_taken_for_ones_own(tmp_path: Path, what: str) -> None:
    trained(tmp_path)
    data, settings, schema = dict(DATA), QUICK, SCHEMA
    if what == "rows":
        data["train"] = table(200, 9)
    elif what == "dev":
        data["dev_in"] = table(150, 9)
    elif what == "settings":
        settings = replace(QUICK, borders=17)
    elif what == "features":
        first, *rest = SCHEMA.features
        schema = Schema((replace(first, name="other"), *rest))
    with pytest.raises(ValueError, match=f"members of another training, with a different {what}: name another folder"):
        train(data, HEADS, schema, tmp_path, members=2, settings=settings, virtual=what == "virtual")


def test_more_threads_are_the_same_training(tmp_path: Path) -> None:
    trained(tmp_path)
    trained(tmp_path, settings=replace(QUICK, threads=2))


def test_early_stopping_cuts_a_model_back_to_its_best(tmp_path: Path) -> None:
    """Of labels that are noise nothing can be learned: the first trees are the best."""
    noise = {
        name: Labelled(split.features, {"temperature": np.random.default_rng(n).normal(size=len(split))})
        for n, (name, split) in enumerate(DATA.items())
    }
    settings = replace(QUICK, gaussian=Trees(4, 200, 0.5), patience=5)
    ensemble = train(noise, (TEMPERATURE,), SCHEMA, tmp_path, members=1, settings=settings)
    (path,) = ensemble.files.values()
    assert open_model(path, TEMPERATURE, SCHEMA).trees < 50


def test_rows_beyond_the_most_are_left_out_evenly(tmp_path: Path) -> None:
    ensemble = trained(tmp_path, settings=replace(QUICK, max_rows=50), members=1)
    assert ensemble.training["rows"] == 50
    assert boosting._chosen(DATA["train"], replace(QUICK, max_rows=3)).tolist() == [0, 99, 199]


def test_what_cannot_be_trained_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="at least one member, got 0"):
        trained(tmp_path / "a", members=0)
    with pytest.raises(ValueError, match="missing: dev_in"):
        trained(tmp_path / "b", {"train": DATA["train"]})
    dry = {name: Labelled(split.features, {"temperature": split.labels["temperature"]}) for name, split in DATA.items()}
    with pytest.raises(ValueError, match="no labels of the head precipitation"):
        trained(tmp_path / "c", dry)
    labelled = Labelled(DATA["train"].features, {"precipitation": np.zeros(200, np.uint8)})
    with pytest.raises(ValueError, match="CatBoost cannot train precipitation"):
        train(
            {"train": labelled, "dev_in": labelled}, (PRECIPITATION,), SCHEMA, tmp_path / "d", members=1, settings=QUICK
        )


def test_presets_are_the_papers_and_a_small_one() -> None:
    full = boosting.PRESETS["full"]
    assert (full.gaussian, full.categorical) == (Trees(8, 20_000, 0.3), Trees(6, 10_000, 0.4))
    assert boosting.PRESETS["fast"].gaussian.iterations <= 300
