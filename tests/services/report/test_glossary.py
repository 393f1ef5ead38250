"""Names, directions and meanings of figures."""

import re
from pathlib import Path

import pytest

from models.evaluation.evaluate import evaluate
from services.report import glossary
from services.report.glossary import COMMON, ERRORS, OWN
from tests.services.report.forms import FORMS
from tests.services.report.reading import read, written
from tests.services.report.simulated import constant

DOCS = Path(__file__).parents[3] / "docs" / "evaluate.md"


@pytest.mark.parametrize("form", FORMS)
def test_every_figure_and_error_that_readers_give_is_in_the_table(form: str, tmp_path: Path) -> None:
    for judged in FORMS[form](tmp_path):
        evaluation = evaluate(judged)
        figures = set(evaluation.full.scalars())
        assert figures <= COMMON.keys() | OWN.keys()
        assert set(judged.errors) <= ERRORS.keys()
        assert all(glossary.definition(name).meaning for name in figures)
        texts = " ".join(read(written(tmp_path / "report", evaluation)).text)
        for name in {*figures, *judged.errors} - judged.measures.keys():
            if "_" in name:
                assert name not in texts.replace(str(tmp_path), ""), "a name of code"


def documented() -> list[tuple[list[str], str]]:
    """Names of figures and what the documentation calls better, a row a pair."""
    section = DOCS.read_text(encoding="utf-8").partition("## Figures")[2].partition("\n## ")[0]
    rows = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("| `")]
    return [(re.findall(r"`([a-z0-9_]+)`", row[0]), row[-1].strip()) for row in rows]


def test_every_documented_figure_is_in_the_table_and_as_good_there() -> None:
    rows = documented()
    assert len(rows) > 10
    for names, better in rows:
        directions = better.split(", ") if "," in better else [better] * len(names)
        assert len(directions) == len(names), names
        for name, word in zip(names, directions, strict=True):
            direction = word if word in ("lower", "higher") and name != "n" and "random" not in name else ""
            if "optimal" in name:
                direction = ""
            assert glossary.definition(name).meaning, name
            assert glossary.definition(name).better == direction, name


@pytest.mark.parametrize(
    ("name", "label", "better"),
    [
        ("ndsc_sd", "nDSC, sd over scans", ""),
        ("dice_sd", "Dice, sd over scans", ""),
        ("lesion_f1_sd", "Lesion F1, sd over scans", ""),
        ("voxel_r_aac", "Voxel R-AAC", "lower"),
        ("weightedfde", "weightedFDE", "lower"),
        ("top1ade", "top1ADE", "lower"),
        ("cnll", "cNLL", "lower"),
        ("maxgleu", "maxGLEU", "higher"),
        ("ence_tvar", "ENCE (total variance)", "lower"),
        ("cv", "Cv", "higher"),
        ("mwse", "MWSE", ""),
        ("ll_fu", "LL-FU", ""),
        ("majority_accuracy", "Accuracy (majority)", ""),
        ("lesion_f1_error_auc", "lesion_f1_error_auc", ""),
    ],
)
def test_figures_are_called_as_the_field_calls_them(name: str, label: str, better: str) -> None:
    definition = glossary.definition(name)
    assert (definition.label, definition.better) == (label, better)


@pytest.mark.parametrize(
    ("name", "mean", "alone"),
    [
        ("egleu_error", "mean eGLEU error", "eGLEU error"),
        ("cnll", "mean cNLL", "cNLL"),
        ("ndsc_error", "mean nDSC error", "nDSC error"),
        ("minade", "mean minADE", "minADE"),
        ("lesion_f1_error", "mean lesion F1 error", "Lesion F1 error"),
        ("error_rate", "error rate", "Error rate"),
        ("brier", "mean Brier score", "Brier score"),
        ("squared_error", "mean squared error", "Squared error"),
        ("error", "mean error", "Error"),
        ("mean_loss", "mean loss", "Mean loss"),
        ("my_loss", "mean my loss", "My loss"),
    ],
)
def test_errors_keep_their_names_in_sentences_and_headings(name: str, mean: str, alone: str) -> None:
    assert glossary.mean_error(name) == mean
    assert glossary.heading(glossary.error(name).label) == alone


def test_a_figure_that_nobody_defined_keeps_its_name_without_a_meaning(tmp_path: Path) -> None:
    judged = constant(own=lambda mask: {"sharpness_f1": 0.5}, own_units={"sharpness_f1": "1"})
    page = written(tmp_path / "r", evaluate(judged))
    (cells,) = (cells for label, cells in read(page).tables["All figures"] if label == "sharpness_f1")
    assert cells[2:] == [[0.5]]
    assert "<dt>sharpness_f1</dt>" not in page
    assert "task’s own" not in page
