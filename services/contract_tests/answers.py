"""Contract of answers: the same over every protocol, decided by the threshold."""

import math
from typing import Any

import numpy as np

from services.contract_tests.declared import Declared, Serve
from services.contract_tests.example import Example
from services.contract_tests.service import PROTOCOLS, Outcome, Service
from services.contract_tests.unknown_scores import UnknownScores
from services.transport.answer import AnswerField

_DEFERS_ALL = -1e30
_RELATIVE, _ABSOLUTE = 1e-5, 1e-6
"""Largest differences of numbers between protocols: answers are computed in float32, in passes of different sizes."""


class AnswerContract(Declared):
    """Tests of answers and decisions."""

    def test_every_protocol_gives_the_same_answer(self, service: Service, example: Example) -> None:
        """gRPC, JSON, and both forms of the Open Inference Protocol agree on values and decisions."""
        expected = service.answer("http", example)
        assert len(expected.units) == len(example.labels) >= 2, (
            f"the example must have a label for each unit, and at least two units; it has {len(example.labels)} labels "
            f"and {len(expected.units)} units"
        )
        for protocol in PROTOCOLS:
            outcome = service.answer(protocol, example)
            assert outcome.decisions == expected.decisions, f"decisions over {protocol} differ from those over HTTP"
            for place, (unit, other) in enumerate(zip(outcome.units, expected.units, strict=True)):
                assert _alike(unit.uncertainty, other.uncertainty), f"uncertainty of unit {place} over {protocol}"
                for field in self.table.fields:
                    if field.dtype != "record" and field.name in unit.values and field.name in other.values:
                        pair = unit.values[field.name], _read(field, other.values[field.name], protocol)
                        assert _alike(*pair), (
                            f"{field.name} of unit {place}: {pair[0]!r} over {protocol}, {pair[1]!r} over http"
                        )

    def test_requests_at_the_same_time_get_their_own_answers(self, service: Service, example: Example) -> None:
        """Passes that requests share mix nothing up."""
        expected = service.answer("http", example)
        for outcome in service.answers([(protocol, example) for protocol in PROTOCOLS * 4]):
            assert outcome.decisions == expected.decisions
            assert _alike(_scores(outcome), _scores(expected)), "scores depend on the requests that run beside"

    def test_decisions_agree_with_the_threshold(self, serve: Serve, service: Service, example: Example) -> None:
        """A unit is answered if its uncertainty is at most the threshold, and deferred above."""
        scores = _scores(service.answer("grpc", example))
        assert np.isfinite(scores).all(), "the uncertainty of the example must be known"
        threshold = float(np.sort(scores)[(len(scores) - 1) // 2])
        with serve(fixed_threshold=threshold, defer_on_shift=False) as other:
            for protocol in PROTOCOLS:
                for unit in other.answer(protocol, example).units:
                    assert math.isclose(unit.threshold, threshold, rel_tol=1e-6), f"threshold over {protocol}"
                    decision = "ANSWER" if np.float32(unit.uncertainty) <= np.float32(threshold) else "DEFER"
                    assert unit.decision == decision, (
                        f"uncertainty {unit.uncertainty:g}, threshold {threshold:g} over {protocol}"
                    )

    def test_unknown_uncertainty_defers(self, serve: Serve, example: Example) -> None:
        """A model that says NaN has its units deferred, and the answer can still be written."""
        with serve(entry=UnknownScores.of(self.entry), fixed_threshold=1e30) as service:
            for protocol in PROTOCOLS:
                for unit in service.answer(protocol, example).units:
                    assert unit.decision == "DEFER", f"NaN must defer; over {protocol} it is {unit.decision}"
                    assert math.isnan(unit.uncertainty), f"uncertainty over {protocol}"

    def test_a_caller_can_only_be_stricter(self, serve: Serve, example: Example) -> None:
        """``defer_above`` defers what the policy would answer, and answers nothing that it defers."""
        with serve(fixed_threshold=1e30, defer_on_shift=False) as service:
            for protocol in PROTOCOLS:
                strict = service.answer(protocol, example, defer_above=_DEFERS_ALL)
                assert set(strict.decisions) == {"CALLER_DEFERRED"}, f"defer_above over {protocol} is not applied"
        with serve(fixed_threshold=_DEFERS_ALL) as service:
            for protocol in PROTOCOLS:
                lax = service.answer(protocol, example, defer_above=1e30)
                assert set(lax.decisions) == {"DEFER"}, f"defer_above over {protocol} overrules the policy"

    def test_withheld_predictions_are_absent(self, serve: Serve, example: Example) -> None:
        """A policy that withholds deferred predictions leaves no field with them."""
        with serve(fixed_threshold=_DEFERS_ALL, withhold=True) as service:
            for protocol in PROTOCOLS:
                for unit in service.answer(protocol, example).units:
                    shown = {
                        field.name: unit.values[field.name]
                        for field in self.table.fields
                        if field.name in unit.values and not _is_missing(field, unit.values[field.name])
                    }
                    assert shown == {}, f"withheld over {protocol}"


def _scores(outcome: Outcome) -> Any:
    return np.array([unit.uncertainty for unit in outcome.units])


def _is_missing(field: AnswerField, value: Any) -> bool:
    """Return whether a value says that there is none: absent, NaN, or the fill of a tensor."""
    if value is None:
        return True
    array = np.asarray(value)
    if array.dtype.kind == "f" and field.fill is None:
        return bool(np.isnan(array).all())
    fill = field.fill if field.fill is not None else b"" if array.dtype.kind in "OS" else 0
    return bool((array == fill).all())


def _read(field: AnswerField, value: Any, protocol: str) -> Any:
    """Return a JSON value as another protocol has it where there is none."""
    if value is not None or protocol == "http":
        return value
    if protocol == "grpc":
        return None if field.missing == "absent" or field.shape else math.nan
    return math.nan if field.fill is None and field.dtype.startswith("float") else field.fill


def _alike(value: Any, other: Any) -> bool:
    """Return whether two values are the same but for rounding; NaN equals NaN, and null in arrays."""
    if value is None or other is None:
        return value is other
    pair = [np.asarray(side) for side in (value, other)]
    if any(side.dtype.kind in "OSU" for side in pair) and not _numeric(value, other):
        texts = [[each.decode() if isinstance(each, bytes) else each for each in side.ravel()] for side in pair]
        return bool(texts[0] == texts[1])
    numbers = [np.array(side, np.float64) for side in pair]
    return numbers[0].size == numbers[1].size and np.allclose(
        numbers[0].ravel(), numbers[1].ravel(), rtol=_RELATIVE, atol=_ABSOLUTE, equal_nan=True
    )


def _numeric(*values: Any) -> bool:
    """Return whether all elements are numbers or null."""
    return all(
        each is None or isinstance(each, int | float)
        for value in values
        for each in np.asarray(value, object).ravel().tolist()
    )
