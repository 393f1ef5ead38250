"""The contract tests fail where a service breaks the contract, each where its subject is broken."""

import re
from pathlib import Path

import pytest

from tests.distributions import PROJECT, python

pytest.importorskip("sklearn", reason="training needs the train extra")
pytest.importorskip("onnx", reason="training needs the train extra")
BROKEN = {
    "TestTensors": {"test_every_protocol_gives_the_same_answer"},
    "TestDecisions": {"test_decisions_agree_with_the_threshold", "test_unknown_uncertainty_defers"},
    "TestSchema": {"test_example_and_answer_fit_the_openapi_document"},
    "TestCrash": {"test_malformed_bodies_are_refused"},
    "TestTable": {"test_messages_agree_with_the_answer_table"},
    "TestRefusal": {"test_refusals_name_field_value_and_remedy"},
    "TestLabel": {"test_labels_of_the_head_are_accepted"},
}
"""Class of broken_digits.py to tests that must be among those that fail."""


@pytest.mark.long
def test_each_defect_is_seen() -> None:
    file = Path(__file__).with_name("broken_digits.py")
    ran = python(["-m", "pytest", "-q", "--tb=line", "-p", "no:cacheprovider", str(file)], cwd=PROJECT)
    failed: dict[str, set[str]] = {}
    for name, test in re.findall(r"^FAILED \S+::(\w+)::(\w+)", ran.stdout, re.MULTILINE):
        failed.setdefault(name, set()).add(test)
    assert failed.keys() == BROKEN.keys(), ran.stdout
    assert {name: tests - failed[name] for name, tests in BROKEN.items()} == {name: set() for name in BROKEN}


def test_a_contract_without_refusals_says_what_is_missing(tmp_path: Path) -> None:
    file = tmp_path / "test_mine.py"
    file.write_text("from services.contract_tests import TaskContract\nclass TestMine(TaskContract): pass\n")
    ran = python(["-m", "pytest", "-q", "-p", "no:cacheprovider", str(file)], cwd=tmp_path)
    assert "TestMine.refusals: must have at least one request; add one" in ran.stdout + ran.stderr
