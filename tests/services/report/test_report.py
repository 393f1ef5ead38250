"""The report as files: whole, escaped, the same for the same input, with the numbers of the evaluation."""

import re
import tomllib
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Tree

import numpy as np
import pytest

from models.evaluation.compare import Comparison
from models.evaluation.evaluate import Evaluation, evaluate, mean_and_deviation
from models.evaluation.unit_errors import ErrorColumn, UnitErrors
from services.report import write_report
from services.report.rendering import TEMPLATES
from tests.services.report.reading import quiet, read, written
from tests.services.report.simulated import compared, regression, three_files


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Evaluation], Comparison]:
    files, comparison = three_files()
    folder = tmp_path_factory.mktemp("three") / "report"
    write_report(folder, files, comparison, 1.2, quiet)
    return folder, files, comparison


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Evaluation]:
    evaluation = evaluate(regression(n=1200), ("climate",))
    return written(tmp_path_factory.mktemp("one") / "report", evaluation), evaluation


def test_the_page_is_well_formed_and_its_ids_are_unique(three: tuple[Path, Any, Any]) -> None:
    reader = read((three[0] / "report.html").read_text())
    assert len(reader.ids) == len(set(reader.ids))
    page = (three[0] / "report.html").read_text()
    referenced = set(re.findall(r"url\(#([^)]+)\)", page)) | set(re.findall(r'href="#([^"]+)"', page))
    assert referenced
    assert referenced <= set(reader.ids)


def test_nothing_is_fetched(three: tuple[Path, Any, Any]) -> None:
    page = (three[0] / "report.html").read_text()
    assert set(re.findall(r'[^\s"\']*"?https?://[^"\s]+', page)) == {'xmlns="http://www.w3.org/2000/svg'}
    assert "@import" not in page
    assert not re.search(r"\ssrc=", page)
    assert set(re.findall(r"url\(([^)]*)\)", page)) <= set(re.findall(r"url\((#[^)]*)\)", page))
    assert page.count("<script") == 1
    assert (TEMPLATES / "theme.js").read_text().rstrip() in page


def test_templates_are_installed_with_their_packages() -> None:
    services = TEMPLATES.parents[1]
    project = tomllib.loads((services.parent / "pyproject.toml").read_text())
    patterns = project["tool"]["setuptools"]["package-data"]["*"]
    for package in (services / "report", services / "monitor"):
        installed = {path for pattern in patterns for path in package.glob(pattern)}
        assert set((package / "templates").iterdir()) <= installed


def test_every_figure_is_in_the_page_and_beside_it_twice(three: tuple[Path, Any, Any]) -> None:
    folder = three[0]
    names = {path.stem for path in (folder / "figures").iterdir()}
    expected = {f"{kind}-retention-{part}" for kind in ("error", "f1") for part in ("full", "in", "shifted")}
    expected |= {"system-error", "uncertainty-1", "uncertainty-2", "uncertainty-3"}
    expected |= {"calibration-bins", "calibration-r3"}
    differences = ("error", "r-auc", "prr", "f1-auc", "f1-at-95", "roc-auc", "augrc")
    assert names == expected | {f"difference-{name}" for name in differences}
    for name in names:
        svg = Tree.fromstring((folder / "figures" / f"{name}.svg").read_bytes())
        assert svg.tag == "{http://www.w3.org/2000/svg}svg"
        assert "var(--" not in (folder / "figures" / f"{name}.svg").read_text()
        assert (folder / "figures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    assert (folder / "report.html").read_text().count('role="img"') == len(names)
    assert sorted(path.name for path in folder.iterdir()) == ["figures", "report.html"]


def test_figures_in_the_page_follow_the_theme_and_keep_their_text(three: tuple[Path, Any, Any]) -> None:
    page = (three[0] / "report.html").read_text()
    for drawn in re.findall(r'<svg [^>]*role="img".*?</svg>', page, re.DOTALL):
        assert not re.search(r"(fill|stroke): *#", drawn)
        assert "<text" in drawn
        assert "var(--soft)" in drawn
        assert re.search(r'aria-label="[^"]{20,}"', drawn)


@pytest.mark.long
def test_the_same_input_gives_the_same_bytes(three: tuple[Path, Any, Any], tmp_path: Path) -> None:
    files, comparison = three_files()
    again = write_report(tmp_path / "again", files, comparison, 1.2, quiet).parent
    for path in sorted(three[0].rglob("*")):
        if path.is_file():
            assert path.read_bytes() == (again / path.relative_to(three[0])).read_bytes(), path.name


def test_numbers_in_the_tables_are_those_of_the_evaluation(one: tuple[str, Evaluation]) -> None:
    page, evaluation = one
    reader, document = read(page), evaluation.document()
    singles = mean_and_deviation(evaluation.singles)
    labels = {"Mean error": "error", "R-AUC": "r_auc", "PRR": "prr", "F1 at 95 %": "f1_at_95", "AUGRC": "augrc"}
    labels |= {"RMSE": "rmse", "MAE": "mae", "F1-AUC (optimal)": "f1_auc_optimal", "E-AURC": "e_aurc"}
    rows = dict(reader.tables["All figures"])
    for label, name in labels.items():
        expected = [[document["full"][name]], [document["in"][name]], [document["shifted"][name]]]
        assert rows[label][2:] == [*expected, [singles[name]["mean"]], [singles[name]["sd"]]]
    assert rows["ROC-AUC"][2:5] == [[document["full"]["roc_auc"]], [], []]
    measures = {label.split()[0]: cells for label, cells in reader.tables["Every measure, on all units"]}
    assert set(measures) == set(document["measures"])
    for name, cells in measures.items():
        names = ("r_auc", "prr", "f1_auc", "f1_at_95", "roc_auc", "aupr", "augrc")
        assert cells == [[document["measures"][name][figure]] for figure in names]
    groups = dict(reader.tables["By climate"])
    assert set(groups) == {"dry", "mild", "polar", "snow"}
    for value, cells in groups.items():
        names = ("n", "error", "r_auc", "prr", "f1_auc", "f1_at_95")
        assert cells == [[document["by"]["climate"][value][figure]] for figure in names]
    errors = dict(reader.tables["Every error, under the measure that defers"])
    assert errors["Absolute error"][1] == [document["errors"]["absolute_error"]["error"]]


def test_retentions_asked_for_have_a_table(tmp_path: Path) -> None:
    evaluation = evaluate(regression(n=300), at=(0.5, 0.9))
    reader = read(written(tmp_path / "r", evaluation))
    rows = reader.tables["At the retentions asked for"]
    document = evaluation.document()
    expected = [point for part in ("full", "in", "shifted") for point in document[part]["at"]]
    assert [cells[1:] for _, cells in rows] == [
        [[at[name]] for name in ("error", "answered_error", "f1")] for at in expected
    ]
    assert [label for label, _ in rows] == ["50\u202f%", "90\u202f%"] * 3


@pytest.mark.long
def test_single_models_side_by_side_have_a_mean_and_a_deviation(tmp_path: Path) -> None:
    files = [evaluate(regression(f"m{place}", n=300, seed=place, members=1)) for place in range(3)]
    glance = dict(read(written(tmp_path / "r", *files)).tables["Files at a glance; the best of each column in bold"])
    errors = [file.full.headline.error for file in files]
    assert glance["Mean of the files"][0] == [pytest.approx(np.mean(errors))]
    assert glance["Standard deviation"][0] == [pytest.approx(np.std(errors))]


def test_a_measure_that_needs_the_label_is_flagged(one: tuple[str, Evaluation]) -> None:
    assert one[0].count("needs the label: not a deferral measure") == 1
    (flagged,) = (label for label, _ in read(one[0]).tables["Every measure, on all units"] if "needs" in label)
    assert flagged.startswith("ll_fu")


def test_differences_are_told_with_their_intervals(three: tuple[Path, list[Evaluation], Comparison]) -> None:
    folder, files, comparison = three
    reader = read((folder / "report.html").read_text())
    rows = reader.tables["Differences from the reference"]
    remaining = iter(rows)
    for source, figures in comparison.differences.items():
        for interval in figures.values():
            label, cells = next(remaining)
            assert label == Path(source).name
            assert cells[2:] == [[interval.difference], [interval.low], [interval.high]]
    assert next(remaining, None) is None
    glance = dict(reader.tables["Files at a glance; the best of each column in bold"])
    for file in files:
        assert glance[Path(file.judged.source).name][0] == [file.full.headline.error]


def test_what_files_say_is_escaped(tmp_path: Path) -> None:
    nasty = "<script>alert('x')</script>\"&$x_1$.npz"
    judged = regression(nasty, n=60)
    judged = UnitErrors(
        **{
            **vars(judged),
            "measures": {f"m{nasty}": judged.uncertainty},
            "groups": {nasty: np.array([nasty, "b"] * 30)},
            "notes": (nasty,),
            "own_units": {},
            "errors": {f"e{nasty}": ErrorColumn(judged.error.values, nasty, 1.0)},
        }
    )
    other = UnitErrors(**{**vars(judged), "source": f"2{nasty}", "singles": None})
    files = [evaluate(judged, (nasty,)), evaluate(other)]
    page = written(tmp_path / "r", *files, comparison=compared(files))
    text = " ".join(read(page).text)
    assert page.count("<script") == 1
    assert "<script>alert" not in page
    assert nasty in text
    assert re.search(r"<text[^>]*>[^<]*\$x_1\$[^<]*</text>", page), "no mathematics is made of it"


def test_letters_of_any_script_and_broken_names_are_written(tmp_path: Path) -> None:
    page = written(tmp_path / "r", evaluate(regression("измерения 測定 \udcff\x07.npz", n=40)))
    read(page)
    assert "измерения 測定" in page
    assert "\x07" not in page


def test_without_a_limit_there_is_no_f1_section(tmp_path: Path) -> None:
    page = written(tmp_path / "r", evaluate(regression(n=200, acceptable=None)))
    assert 'id="f1-retention"' not in page
    assert "the papers name no acceptable limit" in page
    assert not list((tmp_path / "r" / "figures").glob("f1*"))
    assert 'id="f1-retention"' in written(tmp_path / "s", evaluate(regression(n=200)))


def test_without_domains_there_is_one_panel_and_no_shift(tmp_path: Path) -> None:
    page = written(tmp_path / "r", evaluate(regression(n=200, domains=False, normals=False)))
    figures = {path.stem for path in (tmp_path / "r" / "figures").iterdir()}
    assert figures == {"error-retention-full", "f1-retention-full", "system-error", "uncertainty-1"}
    assert "Noticing shift" not in page
    assert "ROC-AUC, AUPR (this needs units in-domain and shifted side by side)" in page


def test_calibration_figures_are_those_of_the_library(tmp_path: Path) -> None:
    from models.assessment import regression_calibration as calibration

    judged = regression(n=900)
    assert judged.normals is not None
    bins = calibration.bins_by_variance((judged.normals.target - judged.normals.mean) ** 2, judged.normals.variance)
    page = written(tmp_path / "r", evaluate(judged))
    assert f"ENCE {calibration.ence(bins):.4f}" in page


@pytest.mark.long
@pytest.mark.parametrize("number", [2, 5])
def test_several_files_stand_side_by_side(number: int, tmp_path: Path) -> None:
    files = [evaluate(regression(f"runs/m{place}.npz", n=300, seed=place)) for place in range(number)]
    page = written(tmp_path / "r", *files, comparison=compared(files))
    reader = read(page)
    assert len(reader.tables["Files at a glance; the best of each column in bold"]) == number
    assert page.count('<details class="file"') == number
    for place in range(number):
        assert f"m{place}.npz" in page


def test_files_with_and_without_domains_or_limits_can_stand_together(tmp_path: Path) -> None:
    files = [
        evaluate(regression("a", n=100, domains=False, acceptable=None, normals=False)),
        evaluate(regression("b", n=100)),
    ]
    page = written(tmp_path / "r", *files)
    assert 'id="f1-retention"' in page
    assert (tmp_path / "r" / "figures" / "error-retention-shifted.png").exists()


@pytest.mark.long
def test_a_large_file_makes_a_small_page(tmp_path: Path) -> None:
    page = written(tmp_path / "r", evaluate(regression(n=200_000, members=2)))
    assert len(page) < 500_000
