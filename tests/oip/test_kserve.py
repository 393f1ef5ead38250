"""Parameters as a client of KServe reads and writes them: its ``InferParameter`` has no numbers with fractions.

The client has an environment of its own, which `make .venv-oip/ready` makes, and `make test` does.
"""

import asyncio
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from services.policy.decision import Decision
from services.transport.oip.protocol import oip_pb2
from tests.contract.serving import Served, serving
from tests.services.tabular import TABULAR

PROJECT = Path(__file__).resolve().parents[2]
PYTHON = Path(os.environ.get("DEMUR_OIP_PYTHON", PROJECT / ".venv-oip" / "bin" / "python"))
SCRIPT = PROJECT / "tests" / "oip" / "kserve_client.py"


@pytest.fixture(scope="module")
def python() -> Path:
    looked = "import importlib.util, sys; sys.exit(importlib.util.find_spec('kserve') is None)"
    if not PYTHON.is_file() or subprocess.run([str(PYTHON), "-c", looked], timeout=60).returncode:
        pytest.skip(f"no KServe at {PYTHON}: run `make .venv-oip/ready`, or set DEMUR_OIP_PYTHON")
    return PYTHON


async def asked(python: Path, served: Served, **parameters: str) -> dict[str, Any]:
    """The answer to a row as the client reads it: parameters and outputs."""
    request = oip_pb2.ModelInferRequest(model_name="tabular")
    request.inputs.add(name="rows", datatype="FP32", shape=(1, 2))
    request.raw_input_contents.append(np.array([[2, 0.5]], "<f4").tobytes())
    content, texts = request.SerializeToString().hex(), json.dumps(parameters)
    client = await asyncio.create_subprocess_exec(
        str(python), str(SCRIPT), f"127.0.0.1:{served.server.port}", content, texts, stdout=asyncio.subprocess.PIPE
    )
    output, _ = await client.communicate()
    assert client.returncode == 0
    return json.loads(output)


async def test_the_threshold_is_read_and_numbers_are_sent_as_texts(python: Path) -> None:
    async with serving(TABULAR) as served:
        answer = await asked(python, served, defer_above="0.25", timeout="60000000", priority="1")
        (policy,) = served.tenant.pipeline.policies.all()
    parameters = answer["parameters"]
    assert parameters["threshold"] is None
    assert parameters["threshold_text"] == ["string_param", repr(float(policy.threshold))]
    assert parameters["measure"] == ["string_param", policy.measure]
    assert parameters["recorded"] == ["bool_param", False]
    assert answer["outputs"]["decision"] == f"{Decision.CALLER_DEFERRED:02x}"
