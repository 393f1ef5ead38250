"""The page of weather tables judges the committed artefacts, and their cards say the same."""

import hashlib
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from models.artefact import Artefact
from models.tasks.weather.spec import HEADS
from studies import pages
from studies.weather_tables import page, served
from studies.weather_tables.__main__ import JUDGED, LABELS, RECIPE

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "quality" / "weather.md").read_text()
ARTEFACTS = served.read(ROOT / "artefacts" / "weather")
NAMES = sorted(ARTEFACTS)
PARTS = {"in": "In", "out": "Shifted"}


def section(title: str) -> dict[tuple[str, ...], dict[str, str]]:
    """Rows of the first table under a heading: label cells to column title to cell."""
    text = PAGE.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]
    lines = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("|")]
    head, body = lines[0], lines[2:]
    labels = sum(name in ("model", "artefact", "data", "metric") for name in head)
    return {tuple(row[:labels]): dict(zip(head[labels:], row[labels:], strict=True)) for row in body}


def printed(cell: str, unit: float) -> tuple[float, float]:
    """A printed figure in the manifest's unit, and how far the exact one may be from it."""
    digits = len(cell.partition(".")[2])
    return float(cell) * unit, 0.51 * unit * 10.0**-digits


def key(figure: str) -> str:
    """The manifest's name of a figure of the page."""
    return figure.replace(".", "_")


def test_the_default_and_all_others_are_there() -> None:
    assert len(NAMES) == 7
    assert set(LABELS) < set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_the_page_names_the_model_files_that_are_served(name: str) -> None:
    named = section("Artefacts judged")[f"`{name}`",]
    assert named["sha256 of the model files"] == f"`{pages.digest(ARTEFACTS[name].manifest)}`"


@pytest.mark.parametrize("name", NAMES)
def test_card_and_page_have_the_same_figures(name: str) -> None:
    rows = section("The served artefacts, each set")
    quality = ARTEFACTS[name].manifest.quality
    assert set(quality) == set(JUDGED)
    for data in JUDGED:
        for figure, title, unit, _ in (*page.TABLE_9, *page.TABLE_10):
            value, near = printed(rows[f"`{name}`", data][title], unit)
            assert quality[data][key(figure)] == pytest.approx(value, abs=near), (data, figure)


@pytest.mark.parametrize("name", sorted(LABELS))
def test_the_papers_tables_have_the_figures_of_the_cards(name: str) -> None:
    """The in-domain and shifted columns of Tables 9 and 10 are single sets, which cards have, too."""
    quality = ARTEFACTS[name].manifest.quality
    label = {"catboost-10": "CatBoost, ensemble", "ft_transformer-5": "FT-Transformer, ensemble"}.get(
        name, LABELS[name]
    )
    for split in ("dev", "eval"):
        for heading, columns in (
            (f"Table 9, {split}: predictive performance", page.TABLE_9),
            (f"Table 10, {split}: retention performance", page.TABLE_10),
        ):
            row = section(heading)[label,]
            for figure, title, unit, _ in columns:
                for part, column in PARTS.items():
                    value, near = printed(row[f"{title} {column}"], unit)
                    assert quality[f"{split}_{part}"][key(figure)] == pytest.approx(value, abs=near)


@pytest.mark.parametrize("name", NAMES)
def test_a_card_has_the_figures_of_its_manifest(name: str) -> None:
    artefact = ARTEFACTS[name]
    card = (artefact.directory / "MODEL_CARD.md").read_text()
    lines = [line.strip("| ").split(" | ") for line in card.splitlines() if line.startswith("|")]
    figures = {row[0]: dict(zip(lines[0][1:], map(float, row[1:]), strict=True)) for row in lines[2:]}
    assert figures == artefact.manifest.quality
    assert "All rows of each set are judged." in card


def test_training_set_a_of_table_13_is_the_served_ensemble() -> None:
    rows = section("Table 13: other training sets, CatBoost")
    quality = ARTEFACTS["catboost-10"].manifest.quality
    for data in JUDGED:
        for figure, title, unit, _ in page.TABLE_9:
            value, near = printed(rows[data, "CatBoost, ensemble"][f"{title} A"], unit)
            assert quality[data][key(figure)] == pytest.approx(value, abs=near)


def test_other_training_sets_have_the_recipe_of_the_served_trees() -> None:
    training = ARTEFACTS["catboost-10"].manifest.training
    assert training["borders"] == RECIPE.borders
    assert training["patience"] == RECIPE.patience
    assert training["rows"] == RECIPE.max_rows
    for head in HEADS:
        size = getattr(RECIPE, head.kind)
        assert [training[f"{head.name}.{name}"] for name in ("depth", "iterations", "rate")] == [
            size.depth,
            size.iterations,
            size.rate,
        ]


def test_artefacts_of_one_training_share_its_files() -> None:
    """Single and combined artefacts hold members of the larger ones, so they are judged with them."""
    files: dict[str, dict[str, str]] = {name: artefact.manifest.files for name, artefact in ARTEFACTS.items()}
    trees = {name: value for name, value in files["catboost-10"].items() if name.endswith(".cbm")}
    assert {name: files["combined-15"][name] for name in trees} == trees
    assert files["combined-15"]["transformer.onnx"] == files["ft_transformer-5"]["transformer.onnx"]
    for name in ("temperature-1.cbm", "precipitation-1.cbm"):
        assert files["catboost-1"][name] == trees[name]


def test_the_page_names_the_processor_and_the_rows() -> None:
    assert re.search(r"\n- Computed on: cpu \S+", PAGE)
    assert "bit by bit, those that the artefacts' manifests name" in PAGE
    assert "nothing was fitted" not in PAGE


def test_a_digest_is_of_model_files_alone() -> None:
    manifest: Any = ARTEFACTS["combined-15"].manifest
    known = pages.digest(manifest)

    def changed(file: str) -> str:
        return pages.digest(msgspec.structs.replace(manifest, files={**manifest.files, file: "0" * 64}))

    assert changed("temperature-3.cbm") != known
    assert changed("transformer.onnx") != known
    assert changed("MODEL_CARD.md") == changed("golden.npz") == changed("replay.npz") == known


def test_a_digest_is_what_sha256sum_prints() -> None:
    artefact: Artefact = ARTEFACTS["catboost-1"]
    lines = "".join(
        f"{hashlib.sha256((artefact.directory / name).read_bytes()).hexdigest()}  {name}\n"
        for name in ("precipitation-1.cbm", "temperature-1.cbm")
    )
    assert pages.digest(artefact.manifest) == hashlib.sha256(lines.encode()).hexdigest()
