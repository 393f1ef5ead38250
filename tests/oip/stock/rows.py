"""Rows: packed and by column, one head and two, over bytes and over JSON."""

from typing import Any

import numpy as np
from asking import FOLDER, ROWS, client, features, given, http, own, parameters, refused, wanted


def case_rows_are_answered_as_by_the_services_own_protocol(kind: Any) -> None:
    names = features("vessel")
    expected = own("vessel", {"columns": dict(zip(names, ROWS.T.tolist(), strict=True))})["power"]
    with client(kind, "vessel") as connection:
        packed = connection.infer("vessel", given(kind, rows=ROWS), request_id="a-1")
        columns = {name: np.float64(ROWS[:, place]) for place, name in enumerate(names)}
        named = connection.infer("vessel", given(kind, **columns))
    ids: list[str] = []
    for result in (packed, named):
        for ours, theirs in (("prediction", "mean"), ("total", "total"), ("knowledge", "knowledge")):
            np.testing.assert_allclose(result.as_numpy(ours), expected[theirs], rtol=1e-5)
        np.testing.assert_array_equal(result.as_numpy("deferred"), expected["deferred"])
        assert result.as_numpy("deferred").dtype == bool
        assert result.as_numpy("decision").tolist() == [
            1 if decision == "ANSWER" else 2 for decision in expected["decision"]
        ]
        ids += [unit_id.decode() for unit_id in result.as_numpy("unit_ids")]
        details = parameters(kind, result)
        assert {name: details[name] for name in ("measure", "threshold", "policy")} == {
            name: expected[name] for name in ("measure", "threshold", "policy")
        }
        assert (details["recorded"], details["purpose"]) == (True, "decide")
    assert len(set(ids)) == 4
    response = packed.get_response()
    assert (response["id"] if kind is http else response.id) == "a-1"


def case_json_in_and_out() -> None:
    with client(http, "vessel") as connection:
        tensor = http.InferInput("rows", list(ROWS.shape), "FP32")
        tensor.set_data_from_numpy(ROWS, binary_data=False)
        names = ("prediction", "unit_ids", "deferred")
        outputs = [http.InferRequestedOutput(name, binary_data=False) for name in names]
        plain = connection.infer("vessel", [tensor], outputs=outputs)
        both = connection.infer("vessel", [tensor], outputs=[*outputs, *wanted(http, "decision")])
        binary = connection.infer("vessel", given(http, rows=ROWS))
    assert plain.as_numpy("decision") is None
    assert [output["name"] for output in plain.get_response()["outputs"]] == ["prediction", "deferred", "unit_ids"]
    for result in (plain, both):
        np.testing.assert_array_equal(result.as_numpy("prediction"), binary.as_numpy("prediction"))
    np.testing.assert_array_equal(both.as_numpy("decision"), binary.as_numpy("decision"))


def case_members_are_told_where_they_are_named(kind: Any) -> None:
    with client(kind, "vessel") as connection:
        assert connection.infer("vessel", given(kind, rows=ROWS)).as_numpy("member_means") is None
        result = connection.infer("vessel", given(kind, rows=ROWS), outputs=wanted(kind, "member_means", "prediction"))
    members = result.as_numpy("member_means")
    assert members.shape == (2, 10)
    np.testing.assert_allclose(members.mean(axis=1), result.as_numpy("prediction"), rtol=1e-5)


def case_parameters_are_wishes(kind: Any) -> None:
    rows = given(kind, rows=ROWS)
    with client(kind, "vessel") as connection:
        strict = connection.infer("vessel", rows, parameters={"defer_above": 0.5, "purpose": "explore"})
        connection.infer("vessel", rows, timeout=5_000_000, priority=2)
        refused(connection.infer, "vessel", rows, parameters={"defer_abov": 0.5}, says=("defer_abov", "defer_above"))
        refused(connection.infer, "vessel", rows, parameters={"purpose": "guess"}, says=("purpose", "explore"))
        refused(connection.infer, "vessel", rows, timeout=-5, says=("timeout", "microseconds"))
        refused(connection.infer, "vessel", rows, sequence_id=7, sequence_start=True, says=("sequence",))
    assert strict.as_numpy("deferred").all()
    assert set(strict.as_numpy("decision")) <= {2, 3}
    assert parameters(kind, strict)["purpose"] == "explore"


def case_a_deadline_in_microseconds_passes(kind: Any) -> None:
    many = np.repeat(ROWS, 50_000, axis=0)
    with client(kind, "vessel") as connection:
        status = "504" if kind is http else "DEADLINE_EXCEEDED"
        refused(connection.infer, "vessel", given(kind, rows=many), timeout=1000, status=status)


def case_two_heads(kind: Any) -> None:
    rows = np.load(FOLDER / "weather.npy")
    lists = ([None if np.isnan(value) else value for value in column] for column in rows.T.tolist())
    expected = own("weather", {"columns": dict(zip(features("weather"), lists, strict=True))})
    temperature, precipitation = expected["temperature"], expected["precipitation"]
    with client(kind, "weather") as connection:
        result = connection.infer("weather", given(kind, rows=rows))
        strict = connection.infer("weather", given(kind, rows=rows), parameters={"defer_above_precipitation": -1.1})
        refused(connection.infer, "weather", given(kind, rows=rows), parameters={"defer_above": 1.0}, says=("head",))
    np.testing.assert_allclose(result.as_numpy("temperature_prediction"), temperature["mean"], rtol=1e-5)
    np.testing.assert_array_equal(result.as_numpy("precipitation_class"), precipitation["class"])
    assert result.as_numpy("precipitation_probabilities").shape == (len(rows), 9)
    assert strict.as_numpy("precipitation_deferred").all()
    np.testing.assert_array_equal(strict.as_numpy("temperature_deferred"), temperature["deferred"])
    assert parameters(kind, result)["temperature_policy"] == temperature["policy"]
