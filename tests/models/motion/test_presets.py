"""What presets say of training."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.tasks.motion.networks.settings import DROPOUT, FAMILIES
from models.tasks.motion.training.presets import PRESETS, Schedule, preset


@given(st.integers(1, 50), st.integers(0, 20), st.integers(1, 40), st.sampled_from(["epochs", "steps"]))
def test_the_rate_rises_once_and_falls_to_nothing(length: int, warmup: int, epoch: int, unit: str) -> None:
    schedule = Schedule(0.1, length + warmup, warmup, unit)
    steps, rising = schedule.lengths(epoch)
    assert steps == (length + warmup) * (epoch if unit == "epochs" else 1)
    rates = [schedule.at(step, steps, rising) for step in range(steps)]
    peak = rates.index(max(rates))
    assert max(rates) == pytest.approx(0.1)
    assert peak in (max(rising - 1, 0), rising)
    assert rates[: peak + 1] == sorted(rates[: peak + 1])
    assert rates[peak:] == sorted(rates[peak:], reverse=True)
    assert min(rates) > 0


def test_the_paper_preset_is_the_papers() -> None:
    for family in FAMILIES:
        settings = preset("paper", family)
        assert (settings.schedule.rate, settings.batch, settings.clip) == (1e-4, 650, 1.0)
        assert (settings.schedule.unit, settings.schedule.warmup) == ("epochs", 1)
        assert settings.sizes.encoder == "mobilenet_v2"


@pytest.mark.parametrize("name", PRESETS)
def test_behavioural_cloning_is_trained_on_samples_and_dropout_families_drop(name: str) -> None:
    assert preset(name, "bc").conditioning == preset(name, "bc_dropout").conditioning == "samples"
    assert preset(name, "dim").conditioning == "truth"
    assert preset(name, "dim").sizes.dropout == 0
    assert preset(name, "dim_dropout").sizes.dropout == DROPOUT
    assert preset(name, "dim_dropout").sizes.decoder == "dim"


def test_unknown_names_and_impossible_schedules_are_refused() -> None:
    with pytest.raises(ValueError, match="family 'gru' is unknown; use one of bc, dim"):
        preset("small", "gru")
    with pytest.raises(ValueError, match="preset 'huge' is unknown; use one of tiny, small, paper"):
        preset("huge", "bc")
    for rate, length, warmup in ((0.0, 5, 1), (0.1, 5, 5), (0.1, 0, 0)):
        with pytest.raises(ValueError, match="cannot be followed"):
            Schedule(rate, length, warmup, "steps")
