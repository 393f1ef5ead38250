"""Bad input over both protocols: each gets a typed answer, and a neighbour in flight is unharmed."""

import subprocess
import sys
import threading
import time
from typing import Any

import grpc
import httpx
import numpy as np
import pytest

import demur
from demur.v1 import common_pb2 as common
from demur.v1 import vessel_pb2 as vessel
from demur.v1.vessel_pb2_grpc import VesselServiceStub
from tests.e2e.conftest import Installation

GOOD = {
    "draft_aft_telegram": 12.6,
    "draft_fore_telegram": 12.5,
    "stw": 18.3,
    "diff_speed_overground": 0.0,
    "awind_vcomp_provider": 20.5,
    "awind_ucomp_provider": 7.8,
    "rcurrent_vcomp": 0.0,
    "rcurrent_ucomp": 0.1,
    "comb_wind_swell_wave_height": 1.6,
    "timeSinceDryDock": 1_316_927.0,
}


class Both:
    """The same named rows over gRPC and HTTP; both refusals as one."""

    def __init__(self, served: Installation) -> None:
        self.channel = grpc.insecure_channel(served.grpc, [("grpc.max_send_message_length", -1)])
        self.stub = VesselServiceStub(self.channel)
        self.http = served.http

    def refusal(self, columns: list[tuple[str, list[float]]]) -> dict[str, Any]:
        """What both protocols say, which has to be the same."""
        named = common.NamedColumns(columns=[common.NamedColumn(name=n, values=v) for n, v in columns])
        with pytest.raises(grpc.RpcError) as refused:
            self.stub.Predict(vessel.VesselPredictRequest(rows=common.Rows(named=named)))
        assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        detail = common.ErrorDetail.FromString(dict(refused.value.trailing_metadata())["demur-error-bin"])
        text = ",".join(f'"{name}":[{",".join(map(_json, values))}]' for name, values in columns)
        answer = httpx.post(
            f"{self.http}/v1/predict",
            content='{"columns":{' + text + "}}",
            headers={"content-type": "application/json"},
        )
        assert answer.status_code == 422, answer.text
        error: dict[str, Any] = answer.json()["error"]
        assert error["message"]
        assert detail.message == refused.value.details()
        return error | {"grpc_code": detail.code, "grpc_field": detail.field}

    def good(self) -> vessel.VesselPredictRequest:
        values = np.array([list(GOOD.values())], "<f4").tobytes()
        return vessel.VesselPredictRequest(rows=common.Rows(packed=common.PackedRows(row_count=1, values=values)))


def _json(value: float) -> str:
    return "null" if value != value else "1e999" if value == float("inf") else repr(value)


@pytest.fixture(scope="module")
def both(served: Installation) -> Both:
    return Both(served)


@pytest.fixture(autouse=True)
def _neighbours(both: Both) -> Any:
    """Good calls run during every test and must all be answered alike."""
    stop = threading.Event()
    outcomes: list[Any] = []

    def ask() -> None:
        while not stop.is_set():
            try:
                outcomes.append(both.stub.Predict(both.good(), timeout=60).power.mean)
            except grpc.RpcError as error:
                outcomes.append(error)
            time.sleep(0.005)

    thread = threading.Thread(target=ask)
    thread.start()
    yield
    stop.set()
    thread.join()
    assert len(outcomes) > 0
    assert set(map(type, outcomes)) == {bytes}, outcomes
    means = np.frombuffer(b"".join(outcomes), "<f4")
    np.testing.assert_allclose(means, means[0], rtol=1e-5)


def columns(**changes: float) -> list[tuple[str, list[float]]]:
    return [(name, [value]) for name, value in (GOOD | changes).items()]


def test_missing_column(both: Both) -> None:
    error = both.refusal([pair for pair in columns() if pair[0] != "stw"])
    assert error["code"] == error["grpc_code"] == "missing_column"
    assert error["field"] == "stw"
    assert "kn" in error["message"]


def test_unknown_column(both: Both) -> None:
    error = both.refusal([*columns(), ("speed", [18.0])])
    assert error["code"] == error["grpc_code"] == "unknown_column"
    assert error["field"] == "speed"


def test_doubled_column(both: Both) -> None:
    error = both.refusal([*columns(), ("stw", [18.0])])
    assert error["code"] == error["grpc_code"] == "doubled_column"
    assert error["field"] == "stw"


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_not_finite(both: Both, value: float) -> None:
    error = both.refusal(columns(stw=value))
    assert error["grpc_code"] == "not_finite"
    assert error["code"] in ("not_finite", "not_a_number")  # JSON has no infinity: 1e999 is told as it was sent


@pytest.mark.parametrize(
    ("field", "value", "unit"),
    [("stw", 60.0, "kn"), ("comb_wind_swell_wave_height", -0.5, "m"), ("awind_ucomp_provider", -3.0, "kn")],
)
def test_out_of_range(both: Both, field: str, value: float, unit: str) -> None:
    error = both.refusal(columns(**{field: value}))
    assert error["code"] == error["grpc_code"] == "out_of_range"
    assert (error["field"], error["unit"], error["index"]) == (field, unit, 0)
    assert error["allowed"]


def test_dry_dock_time_in_days_is_legal_but_flagged(served: Installation) -> None:
    with demur.connect(served.grpc) as client:
        answer = client.vessel.predict({name: [value] for name, value in (GOOD | {"timeSinceDryDock": 914.0}).items()})
    assert answer.shifted[0]
    assert "outside_training_range" in answer.shift_reasons[0]


def test_packed_bytes_of_the_wrong_length(both: Both) -> None:
    rows = common.Rows(packed=common.PackedRows(row_count=2, values=b"\0" * 79))
    with pytest.raises(grpc.RpcError) as refused:
        both.stub.Predict(vessel.VesselPredictRequest(rows=rows))
    assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert "79 bytes" in refused.value.details()
    assert "80 bytes" in refused.value.details()


def test_bytes_that_are_no_message(both: Both) -> None:
    call = both.channel.unary_unary("/demur.v1.VesselService/Predict")
    with pytest.raises(grpc.RpcError) as refused:
        call(b"\xff\xff\xff nonsense")
    assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT


LARGE_CALL = """
import sys
import grpc
from demur.v1 import common_pb2 as common
from demur.v1 import vessel_pb2 as vessel
from demur.v1.vessel_pb2_grpc import VesselServiceStub

rows = common.Rows(packed=common.PackedRows(row_count=10_000_000, values=bytes(400_000_000)))
with grpc.insecure_channel(sys.argv[1], [("grpc.max_send_message_length", -1)]) as channel:
    try:
        VesselServiceStub(channel).Predict(vessel.VesselPredictRequest(rows=rows), timeout=60)
    except grpc.RpcError as refused:
        print(refused.code().name)
"""
"""In a process of its own, since message, copy and what is sent take 2 GB."""


def test_ten_million_rows_in_one_unary_call(served: Installation, both: Both) -> None:
    command = [sys.executable, "-c", LARGE_CALL, served.grpc]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert ran.stdout == "RESOURCE_EXHAUSTED\n", ran.stderr
    rows = common.Rows(packed=common.PackedRows(row_count=10_000_000, values=bytes(17 << 20)))
    body = vessel.VesselPredictRequest(rows=rows).SerializeToString()[: 17 << 20]
    answer = httpx.post(f"{both.http}/v1/predict", content=body, headers={"content-type": "application/protobuf"})
    assert answer.status_code == 413
    assert answer.json()["error"]["unit"] == "bytes"


def test_more_rows_than_a_call_may_hold(both: Both) -> None:
    rows = common.Rows(packed=common.PackedRows(row_count=300_000, values=bytes(12_000_000)))
    with pytest.raises(grpc.RpcError) as refused:
        both.stub.Predict(vessel.VesselPredictRequest(rows=rows))
    assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert "stream" in refused.value.details()


def test_expired_deadline(both: Both) -> None:
    rows = common.Rows(
        packed=common.PackedRows(row_count=200_000, values=bytes(both.good().rows.packed.values) * 200_000)
    )
    with pytest.raises(grpc.RpcError) as late:
        both.stub.Predict(vessel.VesselPredictRequest(rows=rows), timeout=0.05)
    assert late.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    many = {name: [value] * 100_000 for name, value in GOOD.items()}
    answer = httpx.post(
        f"{both.http}/v1/predict", json={"columns": many}, headers={"demur-timeout-seconds": "0.001"}, timeout=30
    )
    assert answer.status_code == 504
    assert answer.json()["error"]["code"] == "deadline_exceeded"


def test_cancelled_stream_leaves_nothing_behind(served: Installation, both: Both) -> None:
    rows = np.tile(np.array([list(GOOD.values())], np.float32), (4096, 1))
    with demur.connect(served.grpc) as client:
        stream = client.vessel.stream(rows for _ in range(1000))
        assert len(next(stream)) == 4096
        stream.close()
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        text = httpx.get(f"{both.http}/metrics").text
        queued = [line for line in text.splitlines() if line.startswith("demur_queue_bytes{")]
        if float(queued[0].split()[-1]) < 1e5:  # only the neighbours' single rows
            return
        time.sleep(0.05)
    pytest.fail(f"work of the cancelled stream is still queued: {queued}")


def test_a_caller_that_hangs_up_leaves_nothing_behind(served: Installation, both: Both) -> None:
    rows = np.tile(np.array([list(GOOD.values())], "<f4"), (250_000, 1))
    packed = common.PackedRows(row_count=len(rows), values=rows.tobytes())
    body = vessel.VesselPredictRequest(rows=common.Rows(packed=packed)).SerializeToString()
    with pytest.raises(httpx.ReadTimeout):
        httpx.post(
            f"{both.http}/v1/predict",
            content=body,
            headers={"content-type": "application/protobuf"},
            timeout=httpx.Timeout(10, read=0.1),
        )
    gone = 'demur_requests_total{code="499",task="vessel",transport="http"} 1.0'
    deadline = time.monotonic() + 60
    while gone not in httpx.get(f"{both.http}/metrics").text:
        assert time.monotonic() < deadline, "nobody noticed that the caller went away"
        time.sleep(0.02)


@pytest.mark.parametrize("kind", ["application/vnd.bentoml+pickle", "application/octet-stream", "text/csv"])
def test_other_content_types_are_refused(both: Both, kind: str) -> None:
    answer = httpx.post(f"{both.http}/v1/predict", content=b"\x80\x04N.", headers={"content-type": kind})
    assert answer.status_code == 415
    assert answer.json()["error"]["code"] == "content_type"


def test_the_real_probes_and_the_real_refusals_of_methods(both: Both) -> None:
    """The service's host answers the first, the service the others."""
    document = httpx.get(f"{both.http}/v1/openapi.json").json()
    for path in ("/livez", "/readyz", "/metrics"):
        answer = httpx.get(both.http + path)
        assert answer.status_code == 200
        (kind,) = document["paths"][path]["get"]["responses"]["200"]["content"]
        assert answer.headers["content-type"].startswith(kind)
    wrong = httpx.put(f"{both.http}/v1/predict")
    assert (wrong.status_code, wrong.headers["allow"]) == (405, "OPTIONS, POST")
    assert wrong.json()["error"]["code"] == "method_not_allowed"
    unknown = httpx.patch(f"{both.http}/v1/nothing")
    assert (unknown.status_code, unknown.json()["error"]["code"]) == (404, "no_route")
