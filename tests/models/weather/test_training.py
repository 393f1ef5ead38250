"""``demur train weather``: every family ends in a calibrated artefact of the official features, or goes on later."""

from dataclasses import replace
from pathlib import Path

import pytest

from models.artefact import Artefact
from models.building import UNSTATED
from models.tasks.weather.data.features import SCHEMA
from models.tasks.weather.training import boosting, train
from models.tasks.weather.training.boosting import Settings, Trees
from models.tasks.weather.training.train import train_artefact
from tests.models.weather.official import table

QUICK = Settings(Trees(3, 24, 0.3), Trees(3, 24, 0.3), patience=30, threads=1, borders=16)


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(boosting.PRESETS, "fast", QUICK)


DATA = {"train": table(300, 1), "dev_in": table(250, 2)}


def trained(out: Path, family: str = "catboost", reports: list[tuple[float, str]] | None = None) -> Artefact:
    heard = [] if reports is None else reports
    return train_artefact(
        family,
        DATA,
        out,
        members=2,
        seed=1,
        preset="fast",
        provenance=UNSTATED,
        progress=lambda done, what: heard.append((done, what)),
    )


@pytest.mark.parametrize("family", ["catboost", "catboost_virtual"])
def test_trees_of_either_kind_become_an_artefact(tmp_path: Path, family: str) -> None:
    reports: list[tuple[float, str]] = []
    built = trained(tmp_path / "out", family, reports)
    assert built.manifest.family == family
    assert built.manifest.samples == (10 if family == "catboost_virtual" else 1)
    assert built.schema == SCHEMA
    shares = [share for share, _ in reports]
    assert shares == sorted(shares)
    assert (shares[-1], reports[-1][1]) == (1.0, built.tag)
    assert [path.name for path in tmp_path.iterdir()] == ["out"], "members of the training are gone"


def test_networks_join_trees(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    from models.tasks.weather.transformer import settings

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    small = replace(
        settings.PRESETS["fast"], epochs=1, sizes=replace(settings.PRESETS["fast"].sizes, width=8, blocks=1)
    )
    monkeypatch.setitem(settings.PRESETS, "fast", small)
    reports: list[tuple[float, str]] = []
    try:
        built = trained(tmp_path / "out", "combined", reports)
    finally:
        torch.set_num_threads(threads)
    assert (built.manifest.family, built.manifest.members) == ("combined", 4)
    shares = [share for share, _ in reports]
    assert shares == sorted(shares)
    assert set(built.manifest.heads["temperature"]) == {"cpu-fp32-trees+split"}


@pytest.mark.long
def test_a_run_that_was_cut_off_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: object, **kwargs: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(train.build, "build", broken)
        with pytest.raises(KeyboardInterrupt):
            trained(tmp_path / "out")
    kept = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "out.parts").glob("*/*.cbm")}
    assert len(kept) == 4
    built = trained(tmp_path / "out")
    assert {name for name in kept} <= set(built.manifest.files)
    assert not (tmp_path / "out.parts").exists()


def test_a_family_that_is_none_is_refused_with_those_that_are(tmp_path: Path) -> None:
    with pytest.raises(
        ValueError, match="family 'dnn' is unknown; use one of catboost, catboost_virtual, ft_transformer"
    ):
        trained(tmp_path / "out", "dnn")
