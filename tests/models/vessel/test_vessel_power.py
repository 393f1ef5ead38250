"""The ship as a whole: properties that physics demands of shaft power."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.tasks.vessel.data.table import FEATURES, NAMES
from simulators.vessel.dataset import _CANONICAL_BOX, _uniform
from simulators.vessel.vessel import Vessel

SHIP = Vessel()


def condition(
    speed: float = 18.0,
    draft: float = 12.0,
    trim: float = 0.0,
    acceleration: float = 0.0,
    wind: float = 0.0,
    wind_angle: float = 0.0,
    current: float = 0.0,
    wave: float = 0.0,
    years: float = 1.0,
) -> list[float]:
    """A row of features; `speed` through water and `wind` (true) in kn, angle in degrees off the bow."""
    angle = np.deg2rad(wind_angle)
    head = speed + current + wind * np.cos(angle)
    cross = abs(wind * np.sin(angle))
    minutes = years * 525_960.0
    return [
        draft + trim / 2,
        draft - trim / 2,
        speed,
        acceleration,
        head,
        cross,
        current,
        0.0,
        wave,
        minutes,
    ]


def power(*rows: list[float]) -> np.ndarray:
    return SHIP.shaft_power(np.array(rows))


def test_power_lies_where_the_measured_ship_lies() -> None:
    service = power(condition(18.3, 12.5, wind=8, wave=1.2, years=2), condition(22.5, 13.0, wave=0.5, years=1))
    assert 17_000 < service[0] < 25_000
    assert 33_000 < service[1] < 48_000


@settings(max_examples=40, deadline=None)
@given(
    speed=st.floats(8.0, 21.0),
    draft=st.floats(8.0, 15.0),
    wind=st.floats(0.0, 25.0),
    angle=st.floats(0.0, 60.0),
    wave=st.floats(0.0, 4.0),
    years=st.floats(0.0, 4.0),
)
def test_power_rises_with_what_costs_power(
    speed: float, draft: float, wind: float, angle: float, wave: float, years: float
) -> None:
    base = {
        "speed": speed,
        "draft": draft,
        "wind": wind,
        "wind_angle": angle,
        "wave": wave,
        "years": years,
    }
    more = [
        base | {"speed": speed + 0.5},
        base | {"draft": draft + 0.5},
        base | {"wave": wave + 0.5},
        base | {"years": years + 0.5},
        base | {"acceleration": 0.3},
    ]
    values = power(condition(**base), *(condition(**change) for change in more))
    assert (values[1:] > values[0]).all()
    stronger = power(*(condition(speed, draft, wind=w, wave=wave, years=years) for w in range(6, 40, 3)))
    assert (np.diff(stronger) > 0.0).all()


@pytest.mark.parametrize("draft", [9.0, 12.0, 14.5])
def test_power_is_about_cubic_in_speed(draft: float) -> None:
    speeds = np.array([9.0, 12.0, 15.0, 18.0, 21.0])
    values = power(*(condition(speed, draft) for speed in speeds))
    exponents = np.diff(np.log(values)) / np.diff(np.log(speeds))
    assert (exponents > 2.5).all()
    assert (exponents < 4.5).all()


def test_following_wind_helps() -> None:
    assert power(condition(wind=20, wind_angle=180))[0] < power(condition())[0]


def test_only_speed_through_water_matters_to_the_hull() -> None:
    """Without wind a current changes the ground speed and the apparent wind alike, and so no power."""
    still, carried = power(condition(wind=0.0), condition(wind=0.0, current=1.5))
    assert carried == pytest.approx(still, rel=1e-3)


def test_finite_and_above_the_idle_floor_over_the_whole_box() -> None:
    """Table 16 with its corners, and the physical ranges of the interface."""
    _, box, _ = _uniform(np.random.default_rng(0), 60_000, _CANONICAL_BOX)
    corners = np.stack(np.meshgrid(*[[f.lower, f.upper] for f in FEATURES], indexing="ij"), -1).reshape(-1, 10)
    for rows in (box, corners):
        values = SHIP.shaft_power(rows)
        assert np.isfinite(values).all()
        assert values.min() >= SHIP.idle_power
    assert SHIP.shaft_power(box).max() < 200_000


def test_rows_are_independent_of_their_neighbours() -> None:
    _, box, _ = _uniform(np.random.default_rng(1), 40_000, _CANONICAL_BOX)
    alone = np.concatenate([SHIP.shaft_power(box[i : i + 1]) for i in (0, 32_767, 32_768, 39_999)])
    np.testing.assert_allclose(SHIP.shaft_power(box)[[0, 32_767, 32_768, 39_999]], alone, rtol=1e-12)


def test_simple_waves_are_an_option() -> None:
    simple = Vessel(wave_method="stawave1")
    rows = np.array([condition(wind=15, wave=w) for w in (0.0, 2.0)])
    assert simple.shaft_power(rows)[0] == pytest.approx(SHIP.shaft_power(rows)[0])
    assert simple.shaft_power(rows)[1] > simple.shaft_power(rows)[0]


def test_wrong_shape_is_refused() -> None:
    with pytest.raises(ValueError, match=r"\[N, 10\]"):
        SHIP.shaft_power(np.zeros((3, 9)))


def test_features_are_the_official_ten() -> None:
    assert len(NAMES) == len(set(NAMES)) == 10
    assert NAMES[0] == "draft_aft_telegram"
    assert NAMES[-1] == "timeSinceDryDock"
    assert all(f.lower < f.upper for f in FEATURES)
    speed = FEATURES[NAMES.index("stw")]
    assert speed.upper < 60.0
