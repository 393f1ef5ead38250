"""Bins count every unit once, as decisions compare it, and follow the quantiles that artefacts carry."""

import json
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from models.calibration import REFERENCE_LEVELS, reference_quantiles
from models.drift.bins import Bins, Reference, of_quantiles
from models.manifest import Manifest

ARTEFACTS = Path(__file__).resolve().parents[3] / "artefacts" / "vessel"


def test_a_bin_holds_its_upper_edge_as_a_threshold_answers_at_equality() -> None:
    bins = Bins((1.0, 2.0))
    scores = np.array([-np.inf, 0.5, 1.0, 1.5, 2.0, 2.5, np.inf, np.nan])
    assert bins.index(scores).tolist() == [0, 0, 0, 1, 1, 2, 2, 3]
    assert bins.count(scores).tolist() == [3, 2, 2, 1]
    assert len(bins) == 4


@given(hnp.arrays(np.float32, st.integers(0, 50), elements=st.floats(width=32)))
def test_every_unit_is_counted_once(scores: np.ndarray) -> None:
    bins = Bins((-1.0, 0.0, 3.5))
    counts = bins.count(scores)
    assert counts.sum() == len(scores)
    assert counts[-1] == np.isnan(scores).sum()


@given(hnp.arrays(np.float32, st.integers(1, 80), elements=st.floats(-4, 4, width=16)), st.integers(1, 40))
def test_bins_of_quantiles_hold_the_shares_they_name(scores: np.ndarray, wanted: int) -> None:
    """Up to the step from one level to the next, ties and constant scores included."""
    reference = of_quantiles(reference_quantiles(scores), REFERENCE_LEVELS, len(scores), wanted)
    assert sum(reference.counts) == pytest.approx(len(scores))
    assert len(reference.bins) <= wanted + 1
    true = np.cumsum(reference.bins.count(scores))
    assert np.all(np.abs(np.cumsum(reference.counts) - true) <= 1 + 0.01 * len(scores) + 1e-9)


def test_constant_scores_have_one_bin() -> None:
    reference = of_quantiles(reference_quantiles(np.full(9, 3.0)), REFERENCE_LEVELS, 9)
    assert reference == Reference(Bins(()), (9.0, 0.0))


@pytest.mark.parametrize("path", sorted(ARTEFACTS.glob("*/manifest.json")), ids=lambda path: path.parent.name)
def test_the_reference_artefacts_give_even_bins(path: Path) -> None:
    manifest = msgspec.json.decode(path.read_bytes(), type=Manifest)
    for profile in manifest.heads["power"].values():
        for values in profile.reference.values():
            reference = of_quantiles(values, REFERENCE_LEVELS, profile.retention.units, 20)
            assert np.allclose(reference.counts[:-1], profile.retention.units / 20)
            assert len(reference.bins) == 21


def test_bins_and_references_pass_through_json() -> None:
    reference = of_quantiles((0.0, 1.0, 2.0), (0.0, 0.5, 1.0), 10, 2)
    assert msgspec.json.decode(msgspec.json.encode(reference), type=Reference) == reference
    assert json.loads(msgspec.json.encode(reference))["bins"] == {"edges": [1.0]}


@pytest.mark.parametrize("edges", [(1.0, 1.0), (2.0, 1.0), (np.nan,), (0.0, np.inf), tuple(map(float, range(251)))])
def test_edges_that_are_none_are_refused(edges: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="edges"):
        Bins(edges)


def test_what_is_no_reference_is_refused() -> None:
    with pytest.raises(ValueError, match="one value a level"):
        of_quantiles((1.0, 2.0), (0.5,), 10)
    with pytest.raises(ValueError, match="do not fall"):
        of_quantiles((2.0, 1.0), (0.0, 1.0), 10)
    with pytest.raises(ValueError, match="units >= 1"):
        of_quantiles((1.0, 2.0), (0.0, 1.0), 0)
    with pytest.raises(ValueError, match="as many counts"):
        Reference(Bins((1.0,)), (1.0, 2.0))
    with pytest.raises(ValueError, match=r"shape \[n\]"):
        Bins(()).index(np.zeros((2, 2)))
