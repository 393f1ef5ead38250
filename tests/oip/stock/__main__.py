"""A stock client of Triton against running services: ``python stock FOLDER ADDRESSES``.

Runs every function of this folder that begins with ``case_``, those with a parameter for both protocols, and prints
JSON: name to traceback, empty where it passed. It is run in an environment that has ``requirements.txt`` and nothing
of this project; ``tests/e2e/test_oip.py`` starts it.
"""

import inspect
import json
import sys
import traceback
from collections.abc import Callable, Iterator

import about
import calls
import refusals
import rows
import tasks
from asking import grpc, http


def cases() -> Iterator[tuple[str, Callable[[], None]]]:
    for module in (about, rows, tasks, calls, refusals):
        for name, function in vars(module).items():
            if not name.startswith("case_"):
                continue
            if inspect.signature(function).parameters:
                yield f"{name}[grpc]", lambda f=function: f(grpc)
                yield f"{name}[http]", lambda f=function: f(http)
            else:
                yield name, function


found = {}
for name, run in cases():
    try:
        run()
        found[name] = ""
    except Exception:
        found[name] = traceback.format_exc()
sys.stdout.write(json.dumps(found))
