"""Profiles of this CPU that truly differ: the vessel ensemble with another layout, reduced weights, and damage."""

import pytest

from tests.models.qualification.vessel_profiles import judged


@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        ("members as single graphs", "carried"),
        ("weights with 16 bits", "carried"),
        ("weights in bfloat16 (8 bits)", "mapped"),
        ("variance in another unit (× 1.5)", "mapped"),
        ("weights as 8-bit integers", "refused"),
        ("first layer reversed", "refused"),
    ],
)
def test_verdicts_of_true_computations(name: str, verdict: str) -> None:
    result = judged(name)
    own = result.measures["tvar"]
    assert result.verdict == verdict, result.reason
    assert own.largest_shift > 0  # they do differ
    assert (result.calibration is None) is (verdict == "refused")
    if verdict == "carried":
        assert result.calibration is not None
        assert own.flips <= 0.001
        assert all(threshold.newly == 0 for threshold in own.thresholds)
