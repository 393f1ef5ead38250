"""Every service asked by hand over gRPC: `buf curl`, which knows only the address and reads schemas by reflection.

`make .buf/ready` installs it with npm, and `make test` does.
"""

import base64
import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from google.protobuf import json_format

from models.artefact import read
from services.runtime.registry import default_ports
from tests.e2e.conftest import PROJECT, Installation
from tests.models.lesion import heads
from tests.services.tasks.motion import streets

BUF = Path(os.environ.get("DEMUR_BUF", PROJECT / ".buf" / "node_modules" / ".bin" / "buf"))
Json = dict[str, Any]
PAGE = (PROJECT / "docs" / "grpc.md").read_text()
pytestmark = pytest.mark.skipif(not BUF.is_file(), reason=f"no buf at {BUF}: run `make .buf/ready`, or set DEMUR_BUF")


def called(served: Installation, task: str, *arguments: str, documents: tuple[Json, ...] = ()) -> str:
    """The standard output of `buf curl`; the last argument is the path behind the address."""
    *options, path = arguments
    address = f"http://127.0.0.1:{default_ports(task)[1] + served.offset}/{path}"
    ran = subprocess.run(
        [str(BUF), "curl", "--protocol", "grpc", "--http2-prior-knowledge", *options, "--data", "@-", address]
        if documents
        else [str(BUF), "curl", "--protocol", "grpc", "--http2-prior-knowledge", *options, address],
        input="\n".join(map(json.dumps, documents)),
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def answers(served: Installation, task: str, method: str, *documents: Json) -> list[Json]:
    """All messages that answer those sent."""
    text = called(served, task, f"demur.v1.{task.capitalize()}Service/{method}", documents=documents)
    messages, decoder = [], json.JSONDecoder()
    while text := text.lstrip():
        document, end = decoder.raw_decode(text)
        messages.append(document)
        text = text[end:]
    return messages


def decided(deferral: Json, count: int = 1) -> None:
    """How units were decided, in words and numbers."""
    assert len(deferral["plainUncertainty"]) == len(deferral["plainDecisions"]) == len(deferral["plainIds"]) == count
    assert {word.removeprefix("DECISION_") for word in deferral["plainDecisions"]} <= {"ANSWER", "DEFER"}
    assert all(shift["shifts"] for shift in deferral["plainShifts"])
    assert not {"uncertainty", "decisions", "shifts"} & set(deferral)


def rows(columns: dict[str, float]) -> Json:
    named = [{"name": name, "values": [value if np.isfinite(value) else "NaN"]} for name, value in columns.items()]
    return {"named": {"columns": named}}


@pytest.mark.parametrize("version", ["grpc-v1", "grpc-v1alpha"])
def test_both_versions_of_reflection_are_read(served: Installation, version: str) -> None:
    listed = called(served, "vessel", "--reflect-protocol", version, "--list-services", "").split()
    assert {"demur.v1.VesselService", "demur.v1.LabelService", "inference.GRPCInferenceService"} < set(listed)
    assert "grpc.reflection.v1.ServerReflection" in listed
    output = called(served, "vessel", "--reflect-protocol", version, "demur.v1.VesselService/Describe")
    assert json.loads(output)["task"] == "vessel"


def documented(mark: str) -> Json:
    """The JSON behind a mark of the page."""
    match = re.search(rf"<!-- {mark} -->\n```json\n(.*?)```", PAGE, re.DOTALL)
    assert match
    document: Json = json.loads(match[1])
    return document


def fields(document: Any, place: str = "") -> set[str]:
    """Where something is said in a document of JSON."""
    if isinstance(document, dict):
        return {name for key, value in document.items() for name in fields(value, f"{place}.{key}")}
    return {place}


def test_vessel_as_the_page_has_it(served: Installation) -> None:
    request, expected = documented("request"), documented("answer")
    (answer,) = answers(served, "vessel", "Predict", request)
    decided(answer["power"]["deferral"])
    assert fields(answer) - {".power.deferral.ids.first"} == fields(expected)
    assert answer["power"]["plainMean"] == pytest.approx(expected["power"]["plainMean"], rel=1e-3)
    frames = answers(
        served,
        "vessel",
        "PredictStream",
        {"begin": {"plain": True}},
        *({"chunk": {"sequence": place, "rows": request["rows"]}} for place in range(2)),
    )
    results = [frame["result"]["answer"] for frame in frames if "result" in frame]
    assert [result["power"]["plainMean"] for result in results] == [answer["power"]["plainMean"]] * 2


def test_weather_with_missing_values(served: Installation) -> None:
    artefact = read(PROJECT / "artefacts" / "weather" / "catboost-10")
    with np.load(artefact.path(artefact.manifest.golden)) as golden:
        row = next(row for row in golden["rows"][1:] if np.isnan(row).any())
    names = [feature.name for feature in artefact.schema.features]
    request = {"plain": True, "rows": rows(dict(zip(names, row.tolist(), strict=True)))}
    (answer,) = answers(served, "weather", "Predict", request)
    decided(answer["temperature"]["deferral"])
    decided(answer["precipitation"]["deferral"])
    assert len(answer["precipitation"]["plainProbabilities"]) == answer["precipitation"]["classes"] == 9


def test_translation(served: Installation) -> None:
    (answer,) = answers(served, "translation", "Predict", {"plain": True, "texts": ["He opened the door."]})
    (sentence,) = answer["sentences"]
    decided(sentence["deferral"])
    best = sentence["hypotheses"][0]
    assert len(best["plainScores"]) == len(answer["scores"])
    assert len(best["tokens"]["plainStarts"]) == len(best["tokens"]["plainTotal"])
    frames = answers(
        served,
        "translation",
        "PredictStream",
        {"begin": {"plain": True}},
        {"chunk": {"sequence": 1, "request": {"texts": ["He opened the door."]}}},
    )
    (streamed,) = [frame["sentence"]["sentence"] for frame in frames if "sentence" in frame]
    decided(streamed["deferral"])


def test_motion_from_a_scene_in_json(served: Installation) -> None:
    scene = json.dumps(json_format.MessageToDict(streets.street())).encode()
    (answer,) = answers(
        served,
        "motion",
        "Predict",
        {"plain": True, "scene": base64.b64encode(scene).decode(), "track_ids": [streets.FAST]},
    )
    (vehicle,) = answer["answers"]
    decided(vehicle["deferral"])
    assert len(vehicle["plainTrajectories"]) == vehicle["modes"] * vehicle["steps"] * 2
    assert sum(vehicle["plainConfidences"]) == pytest.approx(1, abs=1e-5)


def test_lesion_in_one_message_and_in_pieces(served: Installation) -> None:
    scan = base64.b64encode(heads.packed(heads.head((48, 48, 44), ((20, 26, 22), (28, 22, 24))))).decode()
    request = {"plain": True, "flair": scan, "maps": ["LESION_MAP_MASK"], "encoding": "LESION_ENCODING_UINT8"}
    (answer,) = answers(served, "lesion", "Predict", request)
    decided(answer["answer"]["deferral"])
    (mask,) = answer["files"]
    frames = answers(
        served,
        "lesion",
        "PredictStream",
        {"begin": {"plain": True}},
        {"scan": {"sequence": 1, "maps": ["LESION_MAP_MASK"]}},
        {"piece": {"input": "LESION_INPUT_FLAIR", "content": scan}},
        {"end": {}},
    )
    pieces = b"".join(base64.b64decode(frame["piece"]["content"]) for frame in frames if "piece" in frame)
    assert pieces == base64.b64decode(mask["content"])
    (result,) = [frame["result"]["answer"] for frame in frames if "result" in frame]
    decided(result["answer"]["deferral"])
