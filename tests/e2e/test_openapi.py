"""The OpenAPI document of each service is true: schemathesis asks it questions made of its document.

Statuses, content types, headers and bodies of all answers are those that the document names; of the server's errors
only the typed ones may come (ledger away or absent, time over). More: ``pytest -m slow tests/e2e/test_openapi.py``.
"""

import importlib.util
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from services.labels.label_types import MOST_WAIT_SECONDS
from services.runtime.registry import default_ports
from tests.e2e.conftest import Installation

CONFIG = Path(__file__).with_name("schemathesis.toml")
CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
)
EXAMPLES = {"vessel": 6, "motion": 5, "translation": 3, "lesion": 2}
"""Made-up cases of each route in CI, besides the thousand at the edges of what the document allows; those of weather's
123 columns are too many.
"""
WHOLE = "vessel"
"""The task whose every route is asked in CI; of the others it is the one that is theirs alone."""
LEAST_CASES = 100

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("schemathesis") is None, reason="schemathesis is not installed; it is of the extra dev"
)


def passed(installation: Installation, task: str, folder: Path, examples: int, *further: str) -> int:
    """The number of cases, once all have passed."""
    url = f"http://127.0.0.1:{default_ports(task)[0] + installation.offset}/v1/openapi.json"
    command = [sys.executable, "-W", "ignore", "-m", "schemathesis.cli", "--config-file", str(CONFIG), "run", url]
    command += ["--checks", ",".join(CHECKS), "--seed", "1", "--no-color", "--continue-on-failure", "--no-shrink"]
    command += ["--phases", "examples,coverage,fuzzing", "--max-examples", str(examples)]
    command += ["--request-timeout", f"{MOST_WAIT_SECONDS + 15:g}"]  # so long a unit's resolution may be waited for
    run = subprocess.run([*command, *further], cwd=folder, capture_output=True, text=True, timeout=1500)
    assert run.returncode == 0, run.stdout[-12_000:] + run.stderr[-2_000:]
    generated = re.search(r"(\d+) generated", run.stdout)
    assert generated is not None, run.stdout[-2_000:]
    return int(generated[1])


@pytest.fixture(scope="module")
def spoilt(installations: Callable[[], Installation]) -> Iterator[Installation]:
    """Services of their own: made-up questions change policies, too."""
    installation = installations()
    started = installation.run("up", "--detach")
    assert started.returncode == 0, started.stdout + started.stderr
    yield installation
    installation.run("down")


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("task", EXAMPLES)
def test_a_service_answers_as_its_document_says(spoilt: Installation, task: str, tmp_path: Path) -> None:
    routes = () if task == WHOLE else ("--include-path", "/v1/predict")
    assert passed(spoilt, task, tmp_path, EXAMPLES[task], *routes) >= LEAST_CASES


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("task", [*EXAMPLES, "weather"])
def test_a_service_answers_as_its_document_says_for_long(spoilt: Installation, task: str, tmp_path: Path) -> None:
    assert passed(spoilt, task, tmp_path, 80) >= 2 * LEAST_CASES
