"""What is wrong is refused, in words and with the right status."""

from typing import Any

import numpy as np
from asking import ROWS, client, cut, given, grpc, http, refused, wanted


def case_other_models(kind: Any) -> None:
    status = "NOT_FOUND" if kind is grpc else "404"
    with client(kind, "vessel") as connection:
        for model, version, says in (
            ("boat", "", ("model_name = boat", "vessel")),
            ("vessel", "7", ("model_version = 7", "leave it out")),
        ):
            named = {"says": says, "status": status}
            refused(connection.infer, model, given(kind, rows=ROWS), model_version=version, **named)
            refused(connection.get_model_metadata, model, version, **named)
            refused(connection.get_model_config, model, version, **named)
            refused(connection.get_inference_statistics, model, version, **named)


def case_tensors_that_are_none_of_the_model(kind: Any) -> None:
    fast, lost = ROWS.copy(), given(kind, rows=ROWS)
    fast[1, 2] = 99.0
    cut(kind, lost[0], ROWS.tobytes()[:-4])
    rows = given(kind, rows=ROWS)
    status = "INVALID_ARGUMENT" if kind is grpc else "422"
    wrong: list[tuple[Any, tuple[str, ...]]] = [
        (given(kind, rows=ROWS[:, :9]), ("rows", "[2, 9]", "[-1, 10]")),
        (given(kind, rows=[b"1"]), ("rows", "BYTES", "FP32")),
        (given(kind, stw=ROWS[:, 2]), ("missing",)),
        (given(kind, speed=ROWS[:, 2]), ("speed",)),
        (given(kind, rows=ROWS[:0]), ("rows = 0", "at least 1")),
        ([], ("no rows",)),
        (rows + rows, ("twice",)),
        (rows + given(kind, stw=ROWS[:, 2]), ("rows", "stw")),
        (given(kind, rows=fast), ("stw", "99", "kn", "35")),
        (lost, ("rows", "76 bytes", "80")),
    ]
    with client(kind, "vessel") as connection:
        for inputs, words in wrong:
            refused(connection.infer, "vessel", inputs, says=words, status=status)
        outputs = wanted(kind, "power")
        refused(connection.infer, "vessel", rows, outputs=outputs, says=("power", "prediction"), status=status)
        classes = [kind.InferRequestedOutput("prediction", class_count=3)]
        refused(connection.infer, "vessel", rows, outputs=classes, says=("classification",))


def case_broken_bytes(kind: Any) -> None:
    status = "INVALID_ARGUMENT" if kind is grpc else "422"
    with client(kind, "translation") as connection:
        for content in (b"\xff\xff\xff\xff", b"\x01\x00", b"\x01\x00\x00\x00ab", b""):
            text = given(kind, text=[b"Yes."])
            cut(kind, text[0], content)
            refused(connection.infer, "translation", text, says=("text", "bytes"), status=status)


def case_what_is_too_large(kind: Any) -> None:
    many = np.repeat(ROWS, 300_000, axis=0)
    with client(kind, "vessel") as connection:
        status = "RESOURCE_EXHAUSTED" if kind is grpc else "413"
        refused(connection.infer, "vessel", given(kind, rows=many), status=status)
        assert connection.is_server_ready()


def case_what_is_not_served(kind: Any) -> None:
    there = kind.InferInput("rows", [2, 10], "FP32")
    there.set_shared_memory("a", 80)
    status = "UNIMPLEMENTED" if kind is grpc else "501"
    with client(kind, "vessel") as connection:
        refused(connection.load_model, "vessel", says=("started with",), status=status)
        refused(connection.unload_model, "vessel", says=("started with",), status=status)
        refused(connection.register_system_shared_memory, "a", "/a", 8, says=("shared memory",), status=status)
        refused(connection.get_system_shared_memory_status, says=("shared memory",), status=status)
        refused(connection.get_trace_settings, says=("tracing",), status=status)
        refused(connection.get_log_settings, says=("logging",), status=status)
        refused(connection.infer, "vessel", [there], says=("shared memory",), status=status)


def case_compressed_bodies() -> None:
    with client(http, "vessel") as connection:
        rows = given(http, rows=ROWS)
        refused(
            connection.infer, "vessel", rows, request_compression_algorithm="gzip", says=("compressed",), status="415"
        )
