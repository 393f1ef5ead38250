"""Records: what is written comes back, carries any threshold later, and says the verdict in words."""

import json
import math
from typing import Any

import msgspec
import numpy as np
import pytest

from models.calibration import Calibration, expected_error, interval_table, reference_quantiles, retention_table
from models.profile import Profile
from models.qualification.packed import pack, unpack
from models.qualification.record import (
    MEAN,
    Record,
    carried,
    carried_threshold,
    certificate,
    decode,
    encode,
    qualify,
)
from models.qualification.replayed import replayed

RNG = np.random.default_rng(13)
N = 4000
TVAR = np.exp(RNG.normal(size=N)).astype(np.float32)
MEANS = (10 * RNG.normal(size=N)).astype(np.float32)
ERRORS = RNG.chisquare(1, N) * TVAR
CALIBRATION = Calibration(
    retention=retention_table("tvar", TVAR),
    reference={"tvar": reference_quantiles(TVAR)},
    intervals=interval_table(np.zeros(N), TVAR, np.sqrt(ERRORS)),
    expected_error=expected_error("tvar", TVAR, ERRORS),
)
DEVICE = Profile(provider="cuda", version="1.31.1", architecture="sm_90")


def recorded(scale: float = 1.0, noise: float = 1e-6, n: int = N, **others: Any) -> Record:
    rng = np.random.default_rng(2)
    scores = [
        {"power": {"tvar": (scale * TVAR * (1 + noise * rng.normal(size=N))).astype(np.float32)[:n], MEAN: MEANS[:n]}}
        for _ in range(3)
    ]
    return qualify(
        {"power": CALIBRATION},
        {"power": {"tvar": TVAR[:n], MEAN: MEANS[:n]}},
        scores,
        artefact="a" * 64,
        tag="vessel/dnn-10:1",
        profile=DEVICE,
        reference_profile="cpu-fp32-stacked",
        batches=(1, 7, 64),
        libraries={"onnxruntime": "1.31.1"},
        driver="570.1",
        cpu="avx2",
        units_of_measure={"power": "kW"},
        seconds=3.5,
        time="2026-11-23T05:00:00Z",
        **others,
    )


def test_a_record_comes_back_and_carries_as_before() -> None:
    record = recorded()
    again = decode(encode(record))
    assert again == record
    assert (again.verdict, again.units, again.profile_name) == ("carried", N, DEVICE.name)
    first = carried(again, "power", CALIBRATION)
    assert first.calibration is not None
    table = first.calibration.retention
    carried_values = [threshold.carried for threshold in again.heads["power"].measures["tvar"].thresholds]
    assert list(table.thresholds) == carried_values
    assert carried(record, "power", CALIBRATION) == first


def test_any_threshold_can_be_carried_later() -> None:
    record = decode(encode(recorded()))
    result = carried_threshold(record, "power", "tvar", 1.2345)
    assert result.verdict == "carried"
    assert 0 < result.guard < 1e-4
    assert carried_threshold(record, "power", "tvar", -math.inf).carried == -math.inf
    text = {"statement": "risk", "measure": "tvar", "alpha": 0.1, "delta": 0.05, "acceptable": 1.0, "bound": 1.0}
    promise = certificate(record, "power", "tvar", 1.2345, text)
    assert promise.certificate is not None
    assert 0.1 < promise.certificate["alpha"] < 0.103
    assert promise.certificate["profile"] == DEVICE.name


def test_thresholds_in_force_are_recorded_after_the_tabulated_ones() -> None:
    record = recorded(thresholds={"power": {"tvar": [1.2345, math.inf]}})
    last = record.heads["power"].measures["tvar"].thresholds[-1]
    assert last.threshold == 1.2345
    decode(encode(record))


@pytest.mark.parametrize(
    ("scale", "noise", "words"),
    [
        (1, 1e-6, ("carried: 0.0", "rank correlation of tvar 1.000000", "guard band", "means move by up to 0 kW")),
        (2, 1e-6, ("mapped: ", "of units flip at the threshold, more than 0.1%", "certificates are void")),
        (1, 0.3, ("refused, all units are deferred: rank correlation 0.9",)),
    ],
)
def test_the_sentence_tells_the_verdict_and_its_numbers(scale: float, noise: float, words: tuple[str, ...]) -> None:
    lines = recorded(scale, noise).lines
    assert lines[0].startswith(f"vessel/dnn-10:1 under {DEVICE.name}: ")
    assert "4000 units replayed at batch 1, 7, 64 against cpu-fp32-stacked" in lines[0]
    for word in words:
        assert word in lines[1]


def test_few_units_say_that_flips_were_estimated() -> None:
    sentence = recorded(n=300).heads["power"].sentence
    assert "upper 95 % limit, estimated from 300 units" in sentence


def test_means_hold_for_single_thresholds_too() -> None:
    record = recorded()
    moved = record.heads["power"]
    assert moved.means is not None
    scores = unpack(moved.means.means)
    away = pack(replayed(scores.reference, scores.scores + np.float32(5)))
    head = msgspec.structs.replace(moved, means=msgspec.structs.replace(moved.means, means=away))
    record = msgspec.structs.replace(record, heads={"power": head})
    assert carried_threshold(record, "power", "tvar", 1.0).carried == -math.inf
    assert carried(record, "power", CALIBRATION).calibration is None


def test_packing_keeps_every_bit() -> None:
    odd = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1e-45, 3e38, -1.5], np.float32)
    restored = unpack(pack(replayed(odd, np.stack([odd[::-1], odd]))))
    assert restored.reference.tobytes() == odd.tobytes()
    assert restored.scores[0].tobytes() == odd[::-1].tobytes()


def test_scores_that_are_not_finite_make_a_record_that_can_be_written() -> None:
    bad = TVAR.copy()
    bad[7] = np.nan
    scores = [{"power": {"tvar": bad, MEAN: MEANS}}]
    record = qualify(
        {"power": CALIBRATION},
        {"power": {"tvar": TVAR, MEAN: MEANS}},
        scores,
        artefact="a",
        tag="t",
        profile=DEVICE,
        reference_profile="cpu-fp32-stacked",
        batches=(64,),
        libraries={},
    )
    again = decode(encode(record))
    assert (again.verdict, again.heads["power"].measures["tvar"].unusable) == ("refused", 1)
    assert again.heads["power"].measures["tvar"].mean_shift is None
    assert json.loads(encode(record))["heads"]["power"]["measures"]["tvar"]["correlation"] is None


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[:-1],
        lambda text: text.replace(b'"format":1', b'"format":2'),
        lambda text: text.replace(b'"units":4000,"batches"', b'"units":4001,"batches"'),
        lambda text: text.replace(b'"measure":"tvar"', b'"measure":"none"'),
        lambda text: text.replace(b'"reference":"', b'"reference":"!'),
        lambda text: b"{}",
    ],
)
def test_damaged_records_are_refused(damage: Any) -> None:
    with pytest.raises(ValueError, match="qualification record"):
        decode(damage(encode(recorded())))


def test_missing_replays_are_named() -> None:
    with pytest.raises(ValueError, match="head power: 'tvar' is missing in a replay"):
        qualify(
            {"power": CALIBRATION},
            {"power": {"tvar": TVAR}},
            [{"power": {}}],
            artefact="a",
            tag="t",
            profile=DEVICE,
            reference_profile="r",
            batches=(1,),
            libraries={},
        )
