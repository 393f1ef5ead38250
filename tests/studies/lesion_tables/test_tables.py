"""The tables of the lesion task, end to end on toy scans."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("monai")

from studies.lesion_tables import judge
from studies.lesion_tables import page as pages
from studies.lesion_tables.__main__ import QUICK, built, main
from studies.lesion_tables.plan import UNET_ENSEMBLE, UNETR_ENSEMBLE, Plan
from tests.studies.lesion_tables import made

OPTIONS = ("--quick", "--workers", "1")


@pytest.fixture(scope="module", autouse=True)
def few_levels() -> Iterator[None]:
    """A tenth of the thresholds: networks that know nothing mark everything at most of them, which takes long."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(judge, "LEVELS", np.round(np.arange(0.05, 1, 0.1), 2))
        yield


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A work folder after all parts."""
    folder = tmp_path_factory.mktemp("lesion-tables")
    made.scans(folder / "data", QUICK.all_entries(sites=True))
    main([*OPTIONS, "--work", str(folder), "--out", str(folder / "out")])
    return folder


@pytest.mark.slow
def test_the_page_has_all_tables_and_pictures(work: Path) -> None:
    page = (work / "out" / "lesion.md").read_text()
    for number in (2, 4, 5, 8, 9, 10, 11):
        assert f"## Table {number}:" in page
    assert "nan" not in page.lower().replace("nano", "")
    for name in ("load", "retention", "deferral"):
        assert (work / "out" / f"lesion-{name}.png").stat().st_size > 10_000


@pytest.mark.slow
def test_a_run_that_was_cut_off_goes_on_where_it_was(work: Path) -> None:
    kept = {path: path.stat().st_mtime_ns for path in work.rglob("*.npz")} | {
        path: path.stat().st_mtime_ns for path in work.rglob("*.pt")
    }
    lost = next(path for path in kept if path.name.endswith("-judged.npz"))
    lost.unlink()
    main([*OPTIONS, "--work", str(work), "--out", str(work / "again")])
    assert lost.exists()
    assert all(path.stat().st_mtime_ns == changed for path, changed in kept.items() if path != lost)
    first, again = ((work / name / "lesion.md").read_text().splitlines() for name in ("out", "again"))
    assert [line for line in again if "load" not in line] == [line for line in first if "load" not in line]


@pytest.mark.slow
def test_what_is_written_by_hand_stays(work: Path) -> None:
    shutil.copytree(work / "out", work / "seen")
    page = work / "seen" / "lesion.md"
    page.write_text(page.read_text() + "\nSeen by a person.\n")
    main([*OPTIONS, "--work", str(work), "--out", str(work / "seen"), "--parts", "page"])
    assert page.read_text().endswith("Seen by a person.\n")


def test_a_page_names_only_artefacts_of_its_own_members() -> None:
    levels = {UNET_ENSEMBLE: [0.8], UNETR_ENSEMBLE: [0.92]}
    artefacts = built(Plan(), levels)
    assert [artefact.directory.name for artefact in artefacts] == ["unet-5", "unetr-5"]
    page = Path(__file__).parents[3] / "docs" / "quality" / "lesion.md"
    assert pages.built(artefacts) in page.read_text().splitlines()
    assert [artefact.directory.name for artefact in built(Plan(), levels | {UNET_ENSEMBLE: [0.81]})] == ["unetr-5"]
    assert built(Plan(seed=1), levels) == []
    assert built(QUICK, levels) == []


@pytest.mark.slow
def test_another_plan_does_not_mix_its_pieces(work: Path) -> None:
    with pytest.raises(ValueError, match="another training"):
        main([*OPTIONS, "--work", str(work), "--effort", "1", "--parts", "page"])
