"""The record of figures and runs, and the page that is written from it."""

import math
import re
from dataclasses import replace
from pathlib import Path

import pytest

from studies.motion_tables import page, record
from studies.motion_tables.__main__ import RECORD, main
from studies.motion_tables.judge import SETS, Score
from studies.motion_tables.plan import METHODS, ROWS, Plan, Row
from studies.motion_tables.record import Record, Run
from studies.motion_tables.relations import relations
from studies.pages import MARKER

PAGE = Path(__file__).parents[3] / "docs" / "quality" / "motion.md"
DEEP = [row for row in ROWS if row.method == METHODS[0]]
DROPOUT = [row for row in ROWS if row.method == METHODS[1]]


def kept() -> Record:
    return record.load(RECORD, Plan())


def run(*, left_out: bool) -> Run:
    machine = "a new machine" if left_out else "an old machine"
    return Run(machine, {"dev": {"Moscow": 7}, "eval": {"Moscow": 9}}, 4, left_out, ("Members of a test.",))


def sets(value: float) -> dict[str, Score]:
    return {name: Score(*(value,) * 9, value if name == "full" else math.nan) for name in SETS}


def judged(rows: list[Row], value: float) -> dict[tuple[str, Row], dict[str, Score]]:
    return {(split, row): sets(value) for split in ("dev", "eval") for row in rows}


def test_the_page_is_what_is_written_from_the_record() -> None:
    assert PAGE.read_text().partition(MARKER)[0] == f"{page.document(kept())}\n\n"


def test_the_command_writes_the_page_from_the_record_and_keeps_what_is_written_by_hand(tmp_path: Path) -> None:
    (tmp_path / "motion.md").write_text(f"old\n{MARKER}\n\nby hand\n")
    main(["--parts", "page", "--out", str(tmp_path), "--work", str(tmp_path / "work")])
    assert (tmp_path / "motion.md").read_text() == f"{page.document(kept())}\n\n{MARKER}\n\nby hand\n"


def test_a_record_is_read_as_it_was_saved(tmp_path: Path) -> None:
    kept().save(tmp_path / "recorded.json")
    assert (tmp_path / "recorded.json").read_text() == RECORD.read_text()
    again = record.load(tmp_path / "recorded.json", Plan())
    assert again.runs == kept().runs
    assert again.origin == kept().origin
    assert page.document(again) == page.document(kept())


def test_a_record_of_another_plan_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"recorded\.json.*name another file"):
        record.load(RECORD, Plan(scale=0.5))
    with pytest.raises(SystemExit):
        main(["--quick", "--work", str(tmp_path)])
    assert list(tmp_path.iterdir()) == []


def test_rows_of_a_new_run_replace_those_of_the_old_one() -> None:
    old = Record(Plan(), (), {}, {}, {}).merged(run(left_out=False), judged([*DROPOUT, *DEEP], 0.5), {})
    both = old.merged(run(left_out=True), judged(DEEP, 0.25), {})
    assert both.runs == (run(left_out=False), run(left_out=True))
    assert [both.run("dev", row).machine for row in (DEEP[0], DROPOUT[0])] == ["a new machine", "an old machine"]
    assert both.results["dev", DEEP[0]]["in"].minade == 0.25
    assert both.results["dev", DROPOUT[0]]["in"].minade == 0.5
    assert [row for split, row in both.results if split == "dev"] == list(ROWS)
    whole = both.merged(run(left_out=True), judged(DROPOUT, 0.25), {})
    assert whole.run("eval", DROPOUT[0]).machine == "a new machine"
    assert "an old machine" not in page.document(whole)


def test_rows_that_include_the_requests_that_chose_weights_are_marked() -> None:
    old = Record(Plan(), (), {}, {}, {}).merged(run(left_out=False), judged([*DROPOUT, *DEEP], 0.5), {})
    both = old.merged(run(left_out=True), judged(DEEP, 0.25), {})
    text = page.document(both)
    assert "| Dev † | Dropout Ensemble | BC, LQ, K=1 |" in text
    assert "| Dev | Deep Ensemble | BC, LQ, K=1 |" in text
    assert "| Eval | Dropout Ensemble | BC, LQ, K=1 |" in text
    assert "Eval †" not in text
    first, second = page.origins(both)
    assert first.startswith(
        "**Dropout ensembles on dev; dropout ensembles on eval**: judged requests: dev 7 (Moscow 7)"
    )
    assert "include the 4 in-domain requests" in first
    assert first.endswith("Members of a test. Recorded on an old machine.")
    assert second.startswith("**Deep ensembles on dev; deep ensembles on eval**")
    assert "leaves out the 4 in-domain requests" in second
    assert "| Dev † | 5 |" in page.document(old)


def test_figures_are_kept_as_they_are_printed() -> None:
    exact = replace(sets(0.12345)["full"], r_auc=11.335, cnll=61.0149)
    rounded = record.rounded(exact)
    assert (rounded.minade, rounded.f1_auc, rounded.cnll) == (0.123, 0.123, 61.01)


def test_what_fails_on_the_page_is_bold_and_what_holds_is_not() -> None:
    lines = [line for line in PAGE.read_text().splitlines() if re.search(r"\| (yes|\*\*no\*\*) \|", line)]
    assert len(lines) == len(relations(kept().results))
    for line in lines:
        _, _, verdict, evidence, _ = line.split("|")
        assert (verdict.strip() == "**no**") == ("**" in evidence)
    for statement in (
        "Five members are better than one in minFDE, RIP-BC",
        "Five members are better than one in cNLL, RIP-BC, deep ensembles",
    ):
        assert f"| {statement} | **no** | **dev Deep Ensemble " in PAGE.read_text()
