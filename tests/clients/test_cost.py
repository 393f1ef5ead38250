"""Costs of rows: a mean, some deviations, and infinity where the model defers."""

import numpy as np
import pytest

import demur
from demur.v1 import common_pb2 as common


def test_cost_is_the_mean_and_deviations_and_infinite_where_deferred(client, rows):
    batch = rows(200)
    answer = client.vessel.predict(batch, purpose="explore")
    assert 0 < answer.deferred.sum() < 200
    for k in (0, 2.0, np.float32(0.5)):
        cost = client.vessel.cost(batch, k)
        assert cost.dtype == np.float64
        np.testing.assert_array_equal(np.isinf(cost), answer.deferred)
        expected = answer.mean.astype(np.float64) + float(k) * np.sqrt(answer.total.astype(np.float64))
        np.testing.assert_allclose(cost[~answer.deferred], expected[~answer.deferred], rtol=1e-12)


def test_cost_explores_unless_told_otherwise(client, rows, vessel):
    client.vessel.cost(rows(2))
    client.vessel.cost(rows(2), purpose="decide")
    assert [question.purpose for question in vessel.questions] == [common.PURPOSE_EXPLORE, common.PURPOSE_DECIDE]


def test_cost_takes_the_options_of_predict(client, rows, columns):
    assert np.isinf(client.vessel.cost(rows(5), defer_above=-1.0)).all()
    named = columns(rows(5))
    in_metres = named | {"stw": named["stw"] * 1852 / 3600}
    np.testing.assert_allclose(
        client.vessel.cost(in_metres, units={"stw": "m/s"}), client.vessel.cost(named), rtol=1e-6
    )


@pytest.mark.parametrize("k", [-1.0, float("nan"), float("inf"), "2", None])
def test_deviations_are_a_number_from_0_up(client, rows, k):
    with pytest.raises(demur.InvalidInput, match="k is") as raised:
        client.vessel.cost(rows(1), k)
    assert raised.value.field == "k"


async def test_cost_asynchronously(client, target, rows):
    async with demur.aconnect(target) as other:
        np.testing.assert_array_equal(await other.vessel.cost(rows(20), 1.0), client.vessel.cost(rows(20), 1.0))
