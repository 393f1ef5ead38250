"""Sizes that cannot be built say why."""

from dataclasses import replace
from typing import Any

import pytest

from models.tasks.motion.networks.settings import RELEASED_BC, SMALL_BC


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"hidden": 0}, "sizes are at least 1"),
        ({"unit": 0.0}, "unit is more than 0 m"),
        ({"dropout": 1.0}, r"dropout is 1.0, a probability in \[0, 1\)"),
        ({"grid": 100}, "a multiple of 32 cells"),
        ({"channels": (8, 8)}, "four numbers of channels"),
    ],
)
def test_impossible_sizes_are_refused(change: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        replace(SMALL_BC, **change)


def test_the_released_encoder_takes_any_grid() -> None:
    assert replace(RELEASED_BC, grid=100).grid == 100
