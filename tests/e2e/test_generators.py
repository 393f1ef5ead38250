"""Clients that generators make of each service's document, without a warning, call that service.

openapi-python-client and datamodel-code-generator have an environment of their own, which `make .venv-generators/ready`
makes, and `make test` does. openapi-generator, which needs Java, and openapi-typescript, which needs Node.js, are slow:
see tests/generators/README.md.
"""

import base64
import json
import os
import shutil
import subprocess
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models.artefact import read
from services.runtime.registry import default_ports
from services.runtime.settings import TASKS
from tests.e2e.conftest import PROJECT, Installation
from tests.generators.rules import violations
from tests.models.lesion import heads
from tests.services.tasks.motion import streets

GENERATORS = PROJECT / "tests" / "generators"
CALLS = GENERATORS / "calls"
BIN = Path(os.environ.get("DEMUR_GENERATORS_BIN", PROJECT / ".venv-generators" / "bin"))
NODE_MODULES = Path(os.environ.get("DEMUR_GENERATORS_NODE", GENERATORS / "typescript" / "node_modules"))
_SHAPE, _SPOTS = (48, 48, 44), ((20, 26, 22), (28, 22, 24))
_VESSEL = [8.0, 8.0, 12.0, 0.0, 10.0, 5.0, 0.0, 0.0, 1.5, 100_000.0]
CASES = (*(f"{kind}[{task}]" for kind in ("predict", "refused") for task in TASKS), "job")
FORMS = ("form[motion]", "form[lesion]")
"""Names of the cases of ``tests/generators/calls``."""


@pytest.fixture(scope="module")
def urls(served: Installation) -> dict[str, str]:
    return {task: f"http://127.0.0.1:{default_ports(task)[0] + served.offset}" for task in TASKS}


@pytest.fixture(scope="module")
def documents(urls: dict[str, str]) -> dict[str, Any]:
    by_task = {}
    for task, url in urls.items():
        with urllib.request.urlopen(f"{url}/v1/openapi.json") as response:
            by_task[task] = json.load(response)
    return by_task


@pytest.fixture(scope="module")
def folder(documents: dict[str, Any], urls: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Each task's document, ``TASK.openapi.json``, and the body of a request, ``TASK.json``."""
    folder: Path = tmp_path_factory.mktemp("generators")
    for task, document in documents.items():
        (folder / f"{task}.openapi.json").write_text(json.dumps(document))
    for task, body in bodies(urls).items():
        (folder / f"{task}.json").write_text(json.dumps(body | {"purpose": "replay"}))
    return folder


def bodies(urls: dict[str, str]) -> dict[str, dict[str, Any]]:
    """Real inputs where they are at hand (DEMUR_TEST_DATA), else golden rows, a made-up street and a made-up head."""
    data = Path(os.environ.get("DEMUR_TEST_DATA", "none"))
    scene, text = data / "motion" / "shifts_test_scene.pb", data / "translation" / "wmt24" / "src.en.txt"
    content = scene.read_bytes() if scene.is_file() else streets.CONTENT
    english = text.read_text().splitlines()[0] if text.is_file() else "The report was published on Monday."
    weather = read(PROJECT / "artefacts" / "weather" / "catboost-10")
    with np.load(weather.path(weather.manifest.golden)) as golden:
        rows = golden["rows"][1:4].astype(object)
    rows[rows != rows] = None
    return {
        "vessel": {"rows": [dict(zip(names(urls["vessel"]), _VESSEL, strict=True))], "members": True},
        "weather": {"rows": [dict(zip(names(urls["weather"]), row, strict=True)) for row in rows], "members": True},
        "translation": {"text": english},
        "motion": {"scene": base64.b64encode(content).decode(), "submission": True},
        "lesion": {
            "flair": base64.b64encode(heads.packed(heads.head(_SHAPE, _SPOTS))).decode(),
            "maps": ["mask"],
        },
    }


def names(url: str) -> list[str]:
    """Columns of a task of rows."""
    with urllib.request.urlopen(f"{url}/v1/schema") as response:
        return [feature["name"] for feature in json.load(response)["features"]]


def ran(*command: object, cwd: Path | None = None, **environment: str) -> str:
    """What a command prints on both streams; it has to succeed."""
    process = subprocess.run(
        [str(word) for word in command],
        capture_output=True,
        text=True,
        timeout=280,
        cwd=cwd,
        env=os.environ | {"PATH": f"{BIN}:{os.environ['PATH']}"} | environment,
    )
    assert process.returncode == 0, process.stdout[-4000:] + process.stderr[-4000:]
    return process.stdout + process.stderr


def outcomes_of(script: str, folder: Path, urls: dict[str, str]) -> dict[str, str]:
    """Case to traceback."""
    outcomes: dict[str, str] = json.loads(ran(BIN / "python", CALLS / f"{script}.py", folder, json.dumps(urls)))
    return outcomes


def in_parallel(generate: Callable[[str], str]) -> list[str]:
    """What a generator printed for each task."""
    with ThreadPoolExecutor(3) as pool:
        return list(pool.map(generate, TASKS))


def tool(name: str) -> Path:
    if not (BIN / name).is_file():
        pytest.skip(f"no {name} at {BIN}: run `make .venv-generators/ready`, or set DEMUR_GENERATORS_BIN")
    return BIN / name


@pytest.mark.parametrize("task", TASKS)
def test_a_document_keeps_the_rules_of_generators(documents: dict[str, Any], task: str) -> None:
    assert violations(documents[task]) == []


@pytest.fixture(scope="module")
def attrs_outcomes(folder: Path, urls: dict[str, str]) -> dict[str, str]:
    program = tool("openapi-python-client")

    def generate(task: str) -> str:
        words = ("--path", folder / f"{task}.openapi.json", "--output-path", folder / f"{task}_attrs")
        return ran(program, "generate", *words, "--meta", "none", "--fail-on-warning")

    for output in in_parallel(generate):
        assert "arning" not in output, output
    return outcomes_of("openapi_python_client", folder, urls)


@pytest.mark.parametrize("case", [*CASES, *FORMS, "policy", "labels"])
def test_openapi_python_client(case: str, attrs_outcomes: dict[str, str]) -> None:
    assert attrs_outcomes[case] == "", attrs_outcomes[case]


@pytest.fixture(scope="module")
def pydantic_outcomes(folder: Path, urls: dict[str, str]) -> dict[str, str]:
    program = tool("datamodel-codegen")

    def generate(task: str) -> str:
        words = ("--input", folder / f"{task}.openapi.json", "--input-file-type", "openapi", "--formatters", "builtin")
        model = ("--output-model-type", "pydantic_v2.BaseModel", "--output", folder / f"{task}_pydantic.py")
        return ran(program, *words, *model)

    assert in_parallel(generate) == [""] * len(TASKS)
    return outcomes_of("datamodel_codegen", folder, urls)


@pytest.mark.parametrize("case", CASES)
def test_datamodel_code_generator(case: str, pydantic_outcomes: dict[str, str]) -> None:
    assert pydantic_outcomes[case] == "", pydantic_outcomes[case]


@pytest.fixture(scope="module")
def java_outcomes(folder: Path, urls: dict[str, str]) -> dict[str, str]:
    program = tool("openapi-generator-cli")
    if shutil.which("java") is None:
        pytest.skip("no java on the path, which openapi-generator needs")
    smallest = {"openapi": "3.1.0", "info": {"title": "least", "version": "1"}, "paths": {}}
    smallest["components"] = {"schemas": {"One": {"type": "object", "properties": {"a": {"type": "string"}}}}}
    (folder / "smallest.openapi.json").write_text(json.dumps(smallest))
    warnings = {}
    for task in ("smallest", *TASKS):
        words = ("generate", "-g", "python", "--package-name", f"{task}_generated", "-o", folder / f"{task}_java")
        lines = ran(program, *words, "-i", folder / f"{task}.openapi.json").splitlines()
        warnings[task] = {line for line in lines if "WARN" in line or "ERROR" in line}
    own = warnings.pop("smallest")  # those of any document of OpenAPI 3.1
    assert all(lines <= own for lines in warnings.values()), warnings
    return outcomes_of("openapi_generator", folder, urls)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_openapi_generator(case: str, java_outcomes: dict[str, str]) -> None:
    assert java_outcomes[case] == "", java_outcomes[case]


@pytest.mark.slow
def test_openapi_typescript(folder: Path, urls: dict[str, str]) -> None:
    """``tsc --strict`` is the test of the types; the program compares answers with plain ones and prints its cases."""
    if not NODE_MODULES.is_dir():
        pytest.skip(f"no {NODE_MODULES}: run `npm ci` in tests/generators/typescript, or set DEMUR_GENERATORS_NODE")
    for task in TASKS:
        script = NODE_MODULES / ".bin" / "openapi-typescript"
        output = ran(script, folder / f"{task}.openapi.json", "-o", folder / f"{task}.d.ts")
        assert "arn" not in output, output
    (folder / "node_modules").symlink_to(NODE_MODULES)
    for name in ("calls.ts", "tsconfig.json", "package.json"):
        shutil.copy(GENERATORS / "typescript" / name, folder)
    ran(NODE_MODULES / ".bin" / "tsc", "--project", folder, cwd=folder)
    outcomes = json.loads(ran("node", folder / "calls.js", folder, json.dumps(urls)))
    assert outcomes == dict.fromkeys((*CASES, *FORMS), "")
