"""Every service as `demur up` starts it, asked by a stock client of Triton over both protocols (``tests/oip/stock``).

The client has an environment of its own, which `make .venv-oip/ready` makes, and `make test` does.
"""

import ast
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from models.artefact import read
from models.tasks.motion.artefact import recipe as recipes
from models.tasks.motion.inference.render import Renderer
from models.tasks.motion.inference.scenes import parse
from services.runtime.registry import default_ports
from services.runtime.settings import TASKS
from services.transport.oip.protocol import oip_pb2
from tests.e2e.conftest import PROJECT, Installation
from tests.models.lesion import heads
from tests.services.tasks.motion import streets

SCRIPT = PROJECT / "tests" / "oip" / "stock"
PYTHON = Path(os.environ.get("DEMUR_OIP_PYTHON", PROJECT / ".venv-oip" / "bin" / "python"))


def cases() -> Iterator[str]:
    """Names as the script reports them: those with a parameter run for both protocols."""
    for path in sorted(SCRIPT.glob("*.py")):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("case_"):
                yield from (
                    (f"{node.name}[{protocol}]" for protocol in ("grpc", "http")) if node.args.args else (node.name,)
                )


SHAPE = (48, 48, 44)
SPOTS = ((20, 26, 22), (28, 22, 24))


@pytest.fixture(scope="module")
def python() -> Path:
    if not PYTHON.is_file():
        pytest.skip(f"no stock client at {PYTHON}: run `make .venv-oip/ready`, or set DEMUR_OIP_PYTHON")
    return PYTHON


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What is asked: a street with three vehicles, and its maps; a small head; forecasts."""
    folder = tmp_path_factory.mktemp("oip")
    (folder / "scene.pb").write_bytes(streets.CONTENT)
    grid = recipes.read(read(PROJECT / "artefacts" / "motion" / "bc-5")).grid
    renderer = Renderer(parse(streets.CONTENT), grid)
    np.save(folder / "maps.npy", np.stack([renderer.draw(agent) for agent in streets.agents()]).astype(np.float32))
    (folder / "flair.nii.gz").write_bytes(heads.packed(heads.head(SHAPE, SPOTS)))
    np.save(folder / "shape.npy", SHAPE)
    weather = read(PROJECT / "artefacts" / "weather" / "catboost-10")
    with np.load(weather.path(weather.manifest.golden)) as golden:
        np.save(folder / "weather.npy", golden["rows"][1:6])
    (folder / "oip.binpb").write_bytes(oip_pb2.DESCRIPTOR.serialized_pb)
    return folder


@pytest.fixture(scope="module")
def outcomes(python: Path, inputs: Path, served: Installation) -> dict[str, str]:
    """Case to traceback, empty where it passed; all run in one process."""
    where = {
        task: {"http": f"127.0.0.1:{http + served.offset}", "grpc": f"127.0.0.1:{grpc + served.offset}"}
        for task in TASKS
        for http, grpc in (default_ports(task),)
    }
    ran = subprocess.run(
        [str(python), str(SCRIPT), str(inputs), json.dumps(where)], capture_output=True, text=True, timeout=240
    )
    assert ran.returncode == 0, ran.stderr
    results: dict[str, str] = json.loads(ran.stdout)
    return results


@pytest.mark.parametrize("case", list(cases()))
def test_a_stock_client(case: str, outcomes: dict[str, str]) -> None:
    assert outcomes[case] == "", outcomes[case]
