"""Figures of model cards are those of the quality pages, where both judge the same data."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from models.tasks.translation.artefact import build
from studies.translation_tables.plan import Plan

ROOT = Path(__file__).parents[2]
VESSEL = {"dnn-10": "DNN", "symbolic-10": "Symbolic", "variational-10x10": "VI", "mc_dropout-10x10": "MC dropout"}
MOTION = {"bc-5": "BC", "dim-5": "DIM"}
MOTION_SETS = {
    "calibration": ("Dev", "In"),
    "dev_shifted": ("Dev", "Shifted"),
    "eval_in": ("Eval", "In"),
    "eval_shifted": ("Eval", "Shifted"),
}
MOTION_FIGURES = {
    "min_ade_m": (20, "minADE"),
    "weighted_ade_m": (20, "weightedADE"),
    "min_fde_m": (20, "minFDE"),
    "weighted_fde_m": (20, "weightedFDE"),
    "cnll_nats": (20, "cNLL"),
    "r_auc_cnll_nats": (21, "R-AUC"),
}

LESION = {"unet-5": "UNET", "unetr-5": "UNETR"}
LESION_SETS = {"dev_out": "Dev out", "eval_in": "Evl in", "eval_out": "Evl out"}

MARK = "†"
TITLE = "Motion: the tables of the paper on simulated traffic"


def quality(task: str, name: str) -> dict[str, dict[str, float]]:
    """Figures of a card, which are written from the manifest."""
    return json.loads((ROOT / "artefacts" / task / name / "manifest.json").read_text())["quality"]


def table(page: str, heading: str, row: Sequence[str]) -> dict[str, str]:
    """Cells of a row by the names of their columns."""
    lines = (ROOT / "docs" / "quality" / page).read_text().partition(f"# {heading}")[2].splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("|"))
    heads = cells(lines[start])
    rows = (cells(line) for line in lines[start + 2 :])
    match = next(
        values for values in rows if [cell.removesuffix(f" {MARK}") for cell in values[: len(row)]] == list(row)
    )
    return dict(zip(heads, match, strict=True))


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def same(printed: str, value: float, scale: float = 1.0) -> bool:
    """Whether a number of a page is that of a card, up to the rounding of both."""
    digits = len(printed.partition(".")[2])
    return abs(float(printed) - value / scale) <= 0.5 * 10**-digits + 5e-4 * abs(value / scale) + 1e-12


@pytest.mark.parametrize("name", VESSEL)
@pytest.mark.parametrize("split", ["dev", "eval"])
def test_vessel(name: str, split: str) -> None:
    kind = "deep ensemble" if "x" in name.rpartition("-")[2] else "ensemble"
    row = (VESSEL[name], kind)
    errors = table("vessel.md", f"Table 19, {split}", row)
    retention = table("vessel.md", f"Table 20, {split}", row)
    for part in ("in", "out"):
        card = quality("vessel", name)[f"{split}_{part}"]
        for figure, title in (("rmse_kw", "RMSE"), ("mae_kw", "MAE"), ("mape_percent", "MAPE")):
            assert same(errors[f"{title} {part}"], card[figure]), (part, title)
        for figure, title, scale in (("r_auc_kw2", "R-AUC", 1e5), ("f1_auc", "F1-AUC", 1), ("f1_at_95", "F1@95", 0.01)):
            assert same(retention[f"{title} {part}"], card[figure], scale), (part, title)


@pytest.mark.parametrize("name", MOTION)
@pytest.mark.parametrize("part", MOTION_SETS)
def test_motion(name: str, part: str) -> None:
    """Development scenes that calibrate are those that chose no weights; a page that has both marks Dev."""
    card = quality("motion", name)[part]
    split, column = MOTION_SETS[part]
    model = f"{MOTION[name]}, MA, K=5"
    for figure, (number, title) in MOTION_FIGURES.items():
        row = table("motion.md", f"Table {number}", (split, "Deep Ensemble", model))
        if part == "calibration" and MARK in row["data"]:
            row = table("motion.md", TITLE, (model,))
        assert same(row[f"{title} {column}"].partition(" ")[0], card[figure]), title


@pytest.mark.parametrize("name", LESION)
@pytest.mark.parametrize("split", LESION_SETS)
def test_lesion(name: str, split: str) -> None:
    card, column = quality("lesion", name)[split], LESION_SETS[split]
    overview = table("lesion.md", "Table 2", ("Ensemble", LESION[name]))
    lesions = table("lesion.md", "Table 10", (LESION[name], "0.0", "Deep Ensemble"))
    printed = {
        "ndsc": overview[f"nDSC {column}"],
        "voxel_r_aac": overview[f"R-AUC {column}"],
        "lesion_f1": lesions[column],
    }
    if name == "unet-5":
        by_load = table("lesion.md", "Table 8", (column,))
        assert by_load["nDSC"] == printed["ndsc"]
        printed["dice"] = by_load["DSC"]
    for figure, cell in printed.items():
        assert same(cell, card[figure], 0.01), figure
    counts = (ROOT / "docs" / "quality" / "lesion.md").read_text().partition("- Scans: ")[2].partition("(")[0]
    assert f"{split} {card['scans']:.0f}" in counts


def test_the_translation_card_names_its_smaller_sample() -> None:
    card = (ROOT / "artefacts" / "translation" / "transformer-3" / "MODEL_CARD.md").read_text()
    assert "A smaller sample than that of the quality page" in card
    held = table("translation.md", "Table 4", ("docs",))
    judged = next(cells(line) for line in card.splitlines() if line.startswith("| held out: docs |"))
    assert int(judged[1]) < int(held["lines"])


def test_the_translation_card_names_the_sentences_of_its_rank_correlations() -> None:
    card = (ROOT / "artefacts" / "translation" / "transformer-3" / "MODEL_CARD.md").read_text()
    page = (ROOT / "docs" / "quality" / "translation.md").read_text()
    assert "- int8_rank_correlation_scr_pe: " in card
    assert f"are of at most {build.COMPARED} calibration sentences, evenly spaced" in " ".join(card.split())
    assert f"those of the quality page are of {Plan().compared} lines" in card
    assert f"({Plan().compared} lines, half held out, half shifted)" in page
