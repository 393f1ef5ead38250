"""The rules of tasks, by their names."""

import pytest

from models.assessment.convention import OFFICIAL, PAPER
from models.assessment.figures import Rules
from models.tasks.rules import rules
from models.tasks.vessel import spec


def test_a_task_with_rules_of_its_own_has_them() -> None:
    assert rules("vessel") == spec.rules()
    assert rules("vessel", PAPER) == spec.rules(PAPER)
    assert rules("vessel") != Rules()


@pytest.mark.parametrize("name", ["weather", "toy", "rules", "", "no task", "../vessel"])
def test_any_other_has_the_common_ones(name: str) -> None:
    assert rules(name) == Rules(OFFICIAL)
