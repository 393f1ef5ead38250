"""What all cases ask with: clients of Triton for both protocols, and inputs of arrays."""

import json
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import tritonclient.grpc as grpc
import tritonclient.http as http
from tritonclient.utils import InferenceServerException

FOLDER = Path(sys.argv[1])
WHERE = json.loads(sys.argv[2])
"""Task to protocol to host and port."""
ROWS = np.array(
    [
        [8.0, 8.0, 12.0, 0.0, 10.0, 5.0, 0.0, 0.0, 1.5, 100_000.0],
        [9.0, 8.5, 14.0, 0.1, -5.0, 3.0, 0.2, 0.1, 2.0, 200_000.0],
    ],
    np.float32,
)
BOTH = (grpc, http)
STATED = ("uncertainty", "deferred", "decision", "shifted", "unit_ids")
_KINDS = {"f": "FP", "i": "INT", "u": "UINT"}


def protocol(kind: Any) -> str:
    return "grpc" if "grpc" in kind.__name__ else "http"


def client(kind: Any, task: str) -> Any:
    return kind.InferenceServerClient(WHERE[task][protocol(kind)])


def given(kind: Any, **tensors: Any) -> list[Any]:
    """Inputs by name; lists of bytes are BYTES."""
    inputs = []
    for name, value in tensors.items():
        array = value if isinstance(value, np.ndarray) else np.array(value, object)
        datatype = "BYTES" if array.dtype == object else f"{_KINDS[array.dtype.kind]}{8 * array.dtype.itemsize}"
        inputs.append(kind.InferInput(name, list(array.shape), datatype))
        inputs[-1].set_data_from_numpy(array)
    return inputs


def cut(kind: Any, tensor: Any, content: bytes) -> None:
    """Puts raw contents in the place of those that an input has."""
    if kind is grpc:
        tensor._raw_content = content
    else:
        tensor._raw_data = content
        tensor._parameters["binary_data_size"] = len(content)


def wanted(kind: Any, *names: str) -> list[Any]:
    return [kind.InferRequestedOutput(name) for name in names]


def plain(kind: Any) -> dict[str, bool]:
    """What makes answers about models JSON values on both protocols."""
    return {"as_json": True} if kind is grpc else {}


def parameters(kind: Any, result: Any) -> dict[str, Any]:
    response = result.get_response()
    if kind is http:
        return response["parameters"]
    return {name: getattr(value, value.WhichOneof("parameter_choice")) for name, value in response.parameters.items()}


def own(task: str, body: Any) -> Any:
    """What the service's own protocol answers."""
    url = f"http://{WHERE[task]['http']}/v1/predict"
    request = urllib.request.Request(url, json.dumps(body).encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(request) as reply:
        return json.loads(reply.read())


def features(task: str) -> list[str]:
    with urllib.request.urlopen(f"http://{WHERE[task]['http']}/v1/schema") as reply:
        return [feature["name"] for feature in json.loads(reply.read())["features"]]


def refused(call: Callable[..., Any], *args: Any, says: tuple[str, ...] = (), status: str = "", **kwargs: Any) -> None:
    """Calls what has to be refused, in words that hold all of ``says``."""
    try:
        call(*args, **kwargs)
    except InferenceServerException as error:
        refusal = error
    else:
        raise AssertionError("it was answered")
    message = refusal.message()
    assert isinstance(message, str), message
    assert [word for word in says if word not in message] == [], message
    assert status in str(refusal.status()), (refusal.status(), message)
