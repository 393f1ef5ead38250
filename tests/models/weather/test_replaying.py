"""Replay sets of weather: rows of float32, missing values among them, column by column."""

import numpy as np
import pytest

from models import npz, replay
from models.executors.device import CPU
from models.rows import replay_set
from models.tasks.weather.artefact.replay_set import replayer
from tests.models.weather.tiny import Tiny


def test_rows_come_back_to_the_bit() -> None:
    draw = np.random.default_rng(0)
    known, shifted = draw.standard_normal((40, 7)), draw.standard_normal((9, 7)) + 100
    known[3, 2] = np.nan
    known[5] = -9999.0
    rows = replay_set.decoded(npz.decode(replay_set.encode(known, shifted, 60), 1 << 20))
    assert rows.shape == (49, 7)
    assert rows.flags.c_contiguous
    order = np.lexsort(rows.T)
    expected = np.concatenate([known, shifted]).astype(np.float32)
    np.testing.assert_array_equal(rows[order], expected[np.lexsort(expected.T)])
    assert (rows[:20, 0] > 50).any(), "shifted rows lie among the others"


def test_the_maker_writes_a_set_and_other_rows_are_refused(tiny: Tiny) -> None:
    combined = tiny.combined
    assert combined.manifest.replay is not None
    opened = replay.replayer(combined)
    assert opened.units == combined.manifest.replay.units > 0
    recorded, again = replay.reference(combined), opened(0, opened.units, 7)
    for head, by_name in recorded.items():
        for name, values in by_name.items():
            np.testing.assert_allclose(again[head][name], values, rtol=1e-3, atol=1e-3 * np.abs(values).max())
    arrays = npz.decode(replay_set.encode(np.zeros((4, 3)), np.zeros((0, 3))), 1 << 20)
    with pytest.raises(npz.BadArrays, match=r"rows have 3 values, the schema has \d+"):
        replayer(combined, arrays, CPU)
