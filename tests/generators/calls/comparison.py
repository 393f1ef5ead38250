"""Inputs of all tasks, and what a generated client's answer is compared with: the JSON of a plain call."""

import json
import math
import sys
import traceback
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

TASKS = ("weather", "translation", "motion", "lesion", "vessel")
FOLDER = Path(sys.argv[1])
"""Inputs, ``TASK.json`` each with the body of a request, and generated clients."""
URLS: dict[str, str] = json.loads(sys.argv[2])
"""Task to ``http://HOST:PORT``."""
_IDENTITIES = {"prediction_id", "prediction_ids"}
"""New in each answer."""


def body(task: str) -> dict[str, Any]:
    """The body of a request."""
    return json.loads((FOLDER / f"{task}.json").read_text())


def plain(task: str) -> dict[str, Any]:
    """The JSON of an answer, by no client at all."""
    request = urllib.request.Request(
        f"{URLS[task]}/v1/predict", json.dumps(body(task)).encode(), {"content-type": "application/json"}
    )
    with urllib.request.urlopen(request) as response:
        answer: dict[str, Any] = json.load(response)
    return answer


def check_equal(answer: Any, expected: Any, where: str = "$") -> None:
    """Compare two JSON values but for identities; numbers to float32, whose last digits depend on what runs beside.

    Raises:
        AssertionError: they differ; the message says where.
    """
    if isinstance(expected, dict):
        assert isinstance(answer, dict), where
        assert answer.keys() == expected.keys(), (where, answer.keys() ^ expected.keys())
        for name in expected.keys() - _IDENTITIES:
            check_equal(answer[name], expected[name], f"{where}.{name}")
    elif isinstance(expected, list):
        assert isinstance(answer, list), where
        assert len(answer) == len(expected), where
        for index, pair in enumerate(zip(answer, expected, strict=True)):
            check_equal(*pair, f"{where}[{index}]")
    elif isinstance(expected, float):
        assert math.isclose(answer, expected, rel_tol=1e-4, abs_tol=1e-6), (where, answer, expected)
    else:
        assert answer == expected, (where, answer, expected)


def events(url: str) -> Iterator[tuple[str, str]]:
    """Name and data of each server-sent event."""
    name = ""
    with urllib.request.urlopen(url) as stream:
        for line in stream:
            field, _, value = line.decode().strip().partition(": ")
            if field == "event":
                name = value
            elif field == "data":
                yield name, value


def run(cases: dict[str, Callable[[], None]]) -> None:
    """Run cases, and print JSON: name to traceback, empty where it passed."""
    outcomes = {}
    for name, case in cases.items():
        try:
            case()
            outcomes[name] = ""
        except Exception:
            outcomes[name] = traceback.format_exc()
    sys.stdout.write(json.dumps(outcomes))
