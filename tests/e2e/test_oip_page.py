"""The page about the Open Inference Protocol: its examples run as they stand, its tables are what services tell."""

import json
import re
import subprocess
import urllib.request
from typing import Any

import pytest

from services.runtime.registry import default_ports
from services.runtime.settings import TASKS
from services.transport.oip.request_parameters import DESCRIBED
from tests.e2e.conftest import PROJECT, Installation
from tests.e2e.test_oip import PYTHON

PAGE = (PROJECT / "docs" / "oip.md").read_text()
FROM_OTHERS = (PROJECT / "docs" / "from-other-servers.md").read_text()
SECTIONS = {
    "vessel": r"\*\*vessel, weather\.\*\*",
    "weather": r"\*\*vessel, weather\.\*\*",
    "translation": r"\*\*translation\.\*\*",
    "motion": r"\*\*motion\.\*\*",
    "lesion": r"\*\*lesion\.\*\*",
}


def block(mark: str, served: Installation, page: str = PAGE) -> str:
    """The code behind a mark, with the ports of these services."""
    match = re.search(rf"<!-- {mark} -->\n```\w+\n(.*?)```", page, re.DOTALL)
    assert match, mark
    return re.sub(r"127\.0\.0\.1:(\d+)", lambda m: f"127.0.0.1:{int(m[1]) + served.offset}", match[1])


def shell(code: str) -> Any:
    ran = subprocess.run(["sh", "-c", code], capture_output=True, text=True, check=True)
    return json.loads(ran.stdout)


def values(answer: Any) -> dict[str, Any]:
    return {output["name"]: output["data"] for output in answer["outputs"]}


def test_curl_with_json(served: Installation) -> None:
    answer = shell(block("curl-json", served))
    assert answer["id"] == "leg-7"
    assert values(answer).keys() == {"prediction", "deferred"}
    assert 3000 < values(answer)["prediction"][0] < 6000


def test_curl_with_bytes(served: Installation) -> None:
    outputs = values(shell(block("curl-binary", served)))
    assert len(outputs["translation"]) == len(outputs["deferred"]) == 1


@pytest.mark.skipif(not PYTHON.is_file(), reason=f"no stock client at {PYTHON}: run `make .venv-oip/ready`")
def test_python_over_both_protocols(served: Installation) -> None:
    code = block("python", served)
    over_http = code.replace("tritonclient.grpc", "tritonclient.http").replace(
        f'Client("127.0.0.1:{4005 + served.offset}")', f'Client("127.0.0.1:{3005 + served.offset}")'
    )
    assert over_http.count(str(3005 + served.offset)) == 2
    outputs = [
        subprocess.run([str(PYTHON), "-c", program], capture_output=True, text=True, check=True).stdout
        for program in (code, over_http)
    ]
    numbers = [output.splitlines()[0] for output in outputs]
    assert numbers[0] == numbers[1]
    assert re.fullmatch(r"(answered|deferred) [0-9a-f]{16}-\d+", outputs[0].splitlines()[1])


@pytest.mark.skipif(not PYTHON.is_file(), reason=f"no stock client at {PYTHON}: run `make .venv-oip/ready`")
def test_the_call_of_those_who_come_from_other_servers(served: Installation) -> None:
    code = block("triton-http", served, FROM_OTHERS)
    ran = subprocess.run([str(PYTHON), "-c", code], capture_output=True, text=True, check=True)
    assert re.fullmatch(r"\[\d+\.?\d*\]\n\[(True|False|0|1)\] \[\S+\] \[b'[0-9a-f]{16}-\d+'\]\n", ran.stdout), (
        ran.stdout
    )


@pytest.mark.parametrize("task", TASKS)
def test_tables_name_what_services_have(task: str, served: Installation) -> None:
    port = default_ports(task)[0] + served.offset
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/v2/models/{task}") as reply:
        metadata = json.loads(reply.read())
    section = re.search(SECTIONS[task] + r"(.*?)(?=\n\*\*\w|\n## )", PAGE, re.DOTALL)
    assert section
    common = re.search(r"\n## Tensors\n(.*?)\n\*\*", PAGE, re.DOTALL)
    assert common
    named = words(section[1]) | words(common[1])
    outputs = {re.sub(r"^(temperature|precipitation)_", "", tensor["name"]) for tensor in metadata["outputs"]}
    assert outputs <= named
    inputs = {tensor["name"] for tensor in metadata["inputs"] if len(metadata["inputs"]) < 10}
    assert inputs <= named | {"rows"}
    if task in ("translation", "motion", "lesion"):
        rows = re.findall(r"^\| (`.*?) \|", section[1], re.MULTILINE)
        assert words(" ".join(rows)) <= outputs, "the page promises no more than there is"
    by_name = {tensor["name"] for tensor in metadata["outputs"] if not tensor["parameters"]["default"]}
    lines = [line for line in section[1].splitlines() if "by name" in line]
    assert {re.sub(r"^(temperature|precipitation)_", "", name) for name in by_name} <= words(" ".join(lines))


def words(text: str) -> set[str]:
    return set(re.findall(r"`(\w+)`", text))


def test_every_parameter_is_on_the_page() -> None:
    table = PAGE[PAGE.index("## Parameters") : PAGE.index("## Tensors")]
    assert set(DESCRIBED) <= words(table)
