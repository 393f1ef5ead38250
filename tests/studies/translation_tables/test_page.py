"""The whole of it on made-up pairs and members of seconds: jobs, figures, pages, pictures; and what is kept is kept."""

from pathlib import Path

import numpy as np
import pytest

from models.tasks.translation.artefact import ensemble as opened
from studies.translation_tables import __main__ as tables
from studies.translation_tables import data, examples, translate
from studies.translation_tables.judge import MAIN, PUBLIC, ROWS
from studies.translation_tables.kept import load
from studies.translation_tables.plan import ENSEMBLE, EXACT, Plan
from tests.studies.translation_tables import made

pytest.importorskip("torch")
pytest.importorskip("sacrebleu")
SEEDS = (0, 1)
PLAN = Plan(**tables.QUICK, preset="tiny", seeds=SEEDS)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made.folder(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def trained(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made.members(tmp_path_factory.mktemp("members") / "kept", data.read(source, PLAN).folder, SEEDS)


@pytest.fixture(scope="module")
def out(source: Path, trained: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("out")
    arguments = ["--members", trained, "--parts", folder / "parts", "--data", source.parent]
    arguments += [
        "--out",
        folder / "docs" / "quality",
        "--preset",
        "tiny",
        "--seeds",
        *SEEDS,
        "--quick",
        "--workers",
        1,
    ]
    assert tables.main([str(argument) for argument in arguments]) == 0
    return folder


def test_the_page_has_every_row_in_every_table(out: Path) -> None:
    text = (out / "docs" / "quality" / "translation.md").read_text()
    for row in ROWS:
        policies = row.name in (*MAIN, *PUBLIC)
        assert text.count(f"\n| {row.title} | ") == 3 + policies, row.title
    assert "nan" not in text.partition("## Relations")[0]
    assert "-inf" not in text
    assert "| paper, dev | full | 28.89 | 29.52 |" in text
    assert text.count("\n| `") == 20
    assert str(Path.home()) not in text
    assert text.endswith("kept when the page is written again. -->\n")


def test_pictures_and_examples_are_there(out: Path) -> None:
    assert {path.name for path in (out / "docs" / "quality").glob("*.png")} == {
        "translation-retention.png",
        "translation-deferral.png",
    }
    text = (out / "docs" / "translation-examples.md").read_text()
    assert text.count("\n## ") == 2 * len(examples.QUOTED)
    assert made.CANARY not in text


def test_every_model_has_its_sets(out: Path) -> None:
    parts = out / "parts"
    assert {path.name for path in parts.iterdir() if path.is_dir()} - {"logs"} == {
        ENSEMBLE,
        EXACT,
        "member-0",
        "member-1",
    }
    assert [path.stem for path in (parts / EXACT).iterdir()] == [data.COMPARED]
    assert not (parts / "member-0" / "calibration.npz").exists()
    ensemble_lines, alone = (load(parts / model / "tatoeba.npz") for model in (ENSEMBLE, "member-1"))
    assert (ensemble_lines.values.shape, alone.values.shape) == ((19, 6, 5), (0, 6, 5))
    np.testing.assert_allclose(ensemble_lines.values[4], -ensemble_lines.score, rtol=1e-5)
    assert ensemble_lines.whole.tolist() == [True, False, True, True, True, True]
    assert [bool(doubts) for doubts in ensemble_lines.doubts] == ensemble_lines.whole.tolist()


def test_what_is_kept_is_not_translated_again(out: Path, source: Path, trained: Path) -> None:
    plan = PLAN
    jobs = translate.translatings(plan, ["tatoeba"], source, trained, out / "parts")
    assert len(jobs) == 3
    assert all(job.done for job in jobs)


def test_parts_of_other_members_are_refused(
    out: Path, source: Path, trained: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--members", trained, "--parts", out / "parts", "--data", source.parent, "--out", out / "docs"]
    assert (
        tables.main([str(argument) for argument in (*arguments, "--preset", "tiny", "--seeds", 1, 0, "--quick")]) == 1
    )
    assert "with a different members, plan" in capsys.readouterr().err


def test_members_that_are_not_finished_are_refused(
    source: Path, trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--members", trained, "--parts", tmp_path, "--data", source.parent, "--preset", "tiny"]
    assert tables.main([*map(str, arguments), "--seeds", "7"]) == 1
    assert "no finished member of seed 7" in capsys.readouterr().err


def test_lines_without_english_are_left_out(trained: Path) -> None:
    translator = opened.opened(translate.ensemble(PLAN, trained), "int8")
    texts = ["Ba lo mi. Ne ru sta.", "12 — 13", "Бало мине руста тиво", "ba lo"]
    translations = translate.lines(texts, translator, print)
    assert [translation is None for translation in translations] == [False, True, True, False]
    assert translations[0] is not None
    assert len(translations[0].texts) == 5
