"""All cases of the planning benchmark say the same, and are reported; how fast is not judged here."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks.motion_planning import decoders, planning
from benchmarks.motion_planning.ensembles import check
from models.tasks.motion.networks.settings import Sizes

TINY = {
    "BC": Sizes("bc", "small", (4, 4, 4, 4), hidden=8, unit=10.0, sees_steps=True, grid=64),
    "DIM": Sizes("dim", "small", (4, 4, 4, 4), hidden=8, locscale=4, unit=10.0, grid=64),
}


@pytest.mark.slow
def test_fused_and_loops_agree_and_are_reported(tmp_path: Path) -> None:
    figures = list(planning.measure(tmp_path, 0.01, TINY))
    assert {figure.part.split(":")[0] for figure in figures} == set(TINY)
    assert all(figure.value > 0 for figure in figures)
    assert "fused over the loop" in {figure.name for figure in figures}


@pytest.mark.slow
def test_ways_through_the_steps_agree_and_are_reported(tmp_path: Path) -> None:
    figures = list(decoders.measure(tmp_path, 0.01, TINY))
    assert [figure.name.removesuffix(" over it") for figure in figures] == list(decoders.WAYS)
    assert all(figure.value > 0 for figure in figures)


def test_cases_that_differ_are_not_timed() -> None:
    plans, scores = np.ones((2, 25, 2), np.float32), np.ones((1, 2), np.float32)
    with pytest.raises(RuntimeError, match="'b' and 'a' differ by 1.0e-03"):
        check({"a": lambda: (plans, scores), "b": lambda: (plans, scores * np.float32(1.001))})
