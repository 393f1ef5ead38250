"""Artefacts that are judged in place of trained members are those of the plan."""

from pathlib import Path

import pytest

from studies.motion_tables.__main__ import served
from studies.motion_tables.plan import Plan

ARTEFACTS = Path(__file__).parents[3] / "artefacts" / "motion"


def test_families_with_an_artefact_are_judged_by_it() -> None:
    artefacts = served(ARTEFACTS, Plan())
    assert sorted(artefacts) == ["bc", "dim"]
    assert all(artefact.manifest.seeds == Plan().seeds for artefact in artefacts.values())


def test_an_artefact_of_other_training_is_refused() -> None:
    with pytest.raises(ValueError, match="bc-5 was trained with"):
        served(ARTEFACTS, Plan(preset="tiny"))


def test_a_folder_without_artefacts_leaves_all_families_to_be_trained(tmp_path: Path) -> None:
    assert served(tmp_path, Plan()) == {}
