"""Lines of logs: one JSON object each, with the names of the call, and no text that may hold what somebody sent."""

import json
import logging
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from services.runtime.errors import Draining, InvalidInput, LedgerUnavailable
from services.runtime.logging import JsonLines, brief, exception_parts
from services.runtime.variables import SettingsError
from services.tracing.trace import log_fields
from tests.services.tracing.kept import PARENT, SPAN, TRACE, Kept

PROJECT = Path(__file__).resolve().parents[3]
SECRET = "7319-of-somebody"


def line(
    message: str, *arguments: Any, name: str = "services.x", error: BaseException | None = None, **more: Any
) -> Any:
    """A record as it is written."""
    exc_info = None if error is None else (type(error), error, error.__traceback__)
    record = logging.LogRecord(name, logging.ERROR, __file__, 1, message, arguments, exc_info)
    record.fields = more
    text = JsonLines({"task": "vessel", "model": "a:1"}, log_fields).format(record)
    assert "\n" not in text
    return json.loads(text)


def raised(error: BaseException, cause: BaseException | None = None) -> BaseException:
    try:
        raise error from cause
    except BaseException as caught:
        return caught


def test_a_line_tells_when_what_of_whom() -> None:
    record = line("units were %s", "lost", units=3)
    assert record.pop("ts").endswith("Z")
    expected = {"level": "error", "event": "units were lost", "logger": "services.x", "task": "vessel", "model": "a:1"}
    assert record == expected | {"units": 3}


def test_a_line_names_the_call_that_it_belongs_to() -> None:
    with Kept().recorder().begin("call", lambda: {"traceparent": PARENT, "x-request-id": "r-1"}, {}) as trace:
        record = line("a")
        assert (record["trace_id"], record["request_id"]) == (TRACE, "r-1")
        assert record["span_id"] == trace.ids["span_id"] != SPAN
    assert "trace_id" not in line("a")


def test_of_exceptions_kinds_and_places_are_told() -> None:
    error = raised(RuntimeError(SECRET), raised(ValueError(SECRET)))
    record = line("the model failed", error=error)
    outer, inner = record["exception"]
    assert (outer["error"], inner["error"]) == ("RuntimeError", "ValueError")
    assert outer["frames"][-1].startswith("tests/services/runtime/test_logging.py:")
    assert SECRET not in json.dumps(record)


def test_exceptions_among_arguments_are_cut_as_well() -> None:
    record = line("evidence of %s cannot be read: %s", "power", raised(ValueError(SECRET)))
    assert record["event"].startswith(
        "evidence of power cannot be read: ValueError at tests/services/runtime/test_logging.py:"
    )
    assert line("%s", KeyError(SECRET))["event"] == "KeyError"
    assert SECRET not in json.dumps(line(ValueError(SECRET)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (InvalidInput(f"depth = {SECRET}", code="out_of_range", value=SECRET), "InvalidInput: out_of_range"),
        (Draining("going", code="draining"), "Draining: draining"),
        (LedgerUnavailable("the database is locked", code="x"), "LedgerUnavailable: the database is locked"),
        (SettingsError("DEMUR_X = 1: 2 is needed"), "SettingsError: DEMUR_X = 1: 2 is needed"),
        (FileNotFoundError(2, "No such file or directory", SECRET), "FileNotFoundError: No such file or directory"),
        (OSError(SECRET), "OSError"),
        (UnicodeDecodeError("utf-8", SECRET.encode(), 0, 1, SECRET), "UnicodeDecodeError"),
    ],
)
def test_a_text_is_told_only_where_it_is_ours(error: BaseException, expected: str) -> None:
    assert brief(error) == expected
    assert exception_parts(error)[0]["error"] == expected


def test_libraries_tell_values_behind_their_first_line() -> None:
    """asyncio writes the exception of a task into the message."""
    message = f"Task exception was never retrieved\nfuture: <Task exception=ValueError('{SECRET}')>"
    record = line(message, name="asyncio", error=raised(ValueError(SECRET)))
    assert record["event"] == "Task exception was never retrieved"
    assert SECRET not in json.dumps(record)


def test_what_json_cannot_hold_is_a_line_all_the_same() -> None:
    assert line("a \ud800 b")["event"] == "a ? b"
    assert line("%d", "no number")["event"] == "%d"
    assert line("a", thing=object())["thing"] == "object"


_PROCESS = """
import asyncio, logging, sys, threading, warnings
sys.path[:0] = [PROJECT]
from services.runtime import logging as ours
logging.basicConfig()
logging.getLogger("bentoml").addHandler(logging.StreamHandler(sys.stdout))
ours.configure("INFO", {"task": "vessel"})
secret = "7319-of-somebody"
logging.getLogger("bentoml").error("Exception on /v1", exc_info=ValueError(secret))
logging.getLogger("uvicorn.error").warning("slow")
logging.getLogger("uvicorn.access").info("nobody wants to know")
warnings.warn("deprecated")
thread = threading.Thread(target=lambda: {}[secret])
thread.start(); thread.join()
class Unraisable:
    def __del__(self): raise ValueError(secret)
Unraisable()
async def lost():
    asyncio.get_running_loop().create_task(fail())
    await asyncio.sleep(0)
async def fail(): raise ValueError(secret)
asyncio.run(lost())
logging.getLogger("services.a").info("%d", secret)
logging.getLogger("services.calls").debug("call")
raise RuntimeError(secret)
"""


def test_all_that_a_process_says_are_such_lines() -> None:
    program = _PROCESS.replace("PROJECT", repr(str(PROJECT)))
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=240)
    assert ran.stdout == ""
    lines = [json.loads(text) for text in ran.stderr.splitlines()]
    assert SECRET not in ran.stderr
    assert {record["task"] for record in lines} == {"vessel"}
    events = [record["event"] for record in lines]
    assert events[:2] == ["Exception on /v1", "slow"]
    assert events.count("an exception that nobody caught") == 3
    assert "Task exception was never retrieved" in events
    assert "nobody wants to know" not in events
    assert any("UserWarning: deprecated" in event for event in events)
