"""The page about labels and its example, run as they stand against a running service."""

import re
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

from tests.e2e.conftest import PROJECT, Installation, serving

PAGE = (PROJECT / "docs" / "labels.md").read_text()


@pytest.fixture(scope="module")
def counted(
    installations: Callable[[], Installation], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Installation]:
    """A vessel service with a census of power declared and hardly any audits."""
    installation, log = installations(), tmp_path_factory.mktemp("counted") / "log"
    with serving(installation, log, DEMUR_VESSEL_CENSUS="power", DEMUR_AUDIT_RATE="0.0001"):
        yield installation


def test_the_pages_python_prints_what_the_page_says(counted: Installation) -> None:
    match = re.search(r"<!-- python -->\n```python\n(.*?)```\n\n```\n(.*?)```", PAGE, re.DOTALL)
    assert match
    code = match[1].replace("127.0.0.1:4005", counted.grpc)
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.stdout == match[2], ran.stderr


def test_the_example_resolves_what_was_deferred(counted: Installation) -> None:
    command = [sys.executable, str(PROJECT / "examples" / "label.py"), "--target", counted.grpc]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    answer, question, resolved = ran.stdout.splitlines()
    assert answer.startswith("<Answer: 2 rows, 1 deferred")
    assert question == "asked for: measured propeller shaft power, kW; stw 24.5 kn, awind_vcomp_provider 62.0 kn"
    assert re.fullmatch(r"[0-9a-f]{16}-\d+: 31,250 kW, requested", resolved), ran.stderr


def test_the_page_names_routes_that_exist(counted: Installation) -> None:
    import json
    import urllib.request

    with urllib.request.urlopen(f"{counted.http}/v1/openapi.json") as reply:
        paths = json.loads(reply.read())["paths"]
    named = set(re.findall(r"(?:POST|GET) `?(/v1/[a-z/{}]+)", PAGE))
    assert len(named) >= 4
    assert named <= set(paths)
