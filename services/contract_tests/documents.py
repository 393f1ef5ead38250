"""Contract of descriptions: protobuf, OpenAPI and tensor metadata say what the service does; golden inputs replay."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from demur.v1 import common_pb2
from models import npz
from models.artefact import Artefact, ArtefactError, write
from services.contract_tests import tensors
from services.contract_tests.declared import Declared, Serve
from services.contract_tests.example import Example
from services.contract_tests.proto import differences
from services.contract_tests.service import Service
from services.transport.oip.datatypes import DATATYPES

_OPTIONS = ("purpose", "defer_above", "plain")


class DocumentContract(Declared):
    """Tests of descriptions and of the artefact."""

    def test_messages_agree_with_the_answer_table(self, service: Service) -> None:
        """The .proto has the fields of the table, in its types, and no others."""
        response = type(service.served_model.grpc.response.decode(b""))
        assert list(differences(self.table.answer, response.DESCRIPTOR)) == []

    def test_request_messages_have_inputs_and_options(self, service: Service) -> None:
        """The .proto has the inputs under the names of JSON and tensors, and the options of all tasks."""
        request = type(service.served_model.grpc.request.decode(b""))
        expected = {*_OPTIONS, *(spec.name for spec in service.served_model.oip.inputs)}
        missing = expected - set(request.DESCRIPTOR.fields_by_name)
        assert not missing, f"{request.DESCRIPTOR.name}: must have the fields {', '.join(sorted(missing))}"

    def test_the_service_of_the_proto_is_the_one_that_is_served(self, service: Service) -> None:
        """The .proto declares ``Predict`` and ``Describe`` under the name that the binding has."""
        binding = service.served_model.grpc
        request = type(binding.request.decode(b"")).DESCRIPTOR
        declared = {known.full_name: known for known in request.file.services_by_name.values()}
        assert binding.service in declared, f"{request.file.name}: must declare the service {binding.service}"
        methods = set(declared[binding.service].methods_by_name)
        assert methods >= {"Predict", "Describe"}, f"{binding.service}: must have Predict and Describe"
        call: Any = service.channel.unary_unary(f"/{binding.service}/Describe")
        (content,) = service.together([_awaited(call(b""))])
        described = common_pb2.DescribeResponse.FromString(content)
        assert [head.name for head in described.heads] == [self.table.head]

    def test_the_openapi_document_is_valid(self, service: Service) -> None:
        """All its schemas are schemas, and all its references lead somewhere."""
        document = service.get("/v1/openapi.json").json()
        assert document["openapi"].startswith("3.1"), document["openapi"]
        components = document["components"]["schemas"]
        for schema in components.values():
            Draft202012Validator.check_schema(schema)
        references = set(re.findall(r'"#/components/schemas/(\w+)"', json.dumps(document)))
        assert references <= components.keys(), f"schemas without a definition: {references - components.keys()}"

    def test_example_and_answer_fit_the_openapi_document(self, service: Service, example: Example) -> None:
        """The example, its answer and the error of a bad request are what the document says."""
        document = service.get("/v1/openapi.json").json()
        call = document["paths"]["/v1/predict"]["post"]
        _check(document, call["requestBody"]["content"], dict(example.json))
        _check(document, call["responses"]["200"]["content"], service.post("/v1/predict", json=example.json).json())
        for refusal in self.refusals.values():
            response = service.post("/v1/predict", json=refusal.json)
            _check(document, call["responses"][str(response.status_code)]["content"], response.json())

    def test_tensor_metadata_agrees_with_requests_and_answers(self, service: Service, example: Example) -> None:
        """Outputs have the declared names, datatypes and shapes, and the example has those of the inputs."""
        metadata = service.get(f"/v2/models/{service.task}").json()
        inputs = example.arrays(service.served_model.oip.inputs)
        response = service.post(f"/v2/models/{service.task}/infer", content=tensors.document(inputs, {})).json()
        declared = {spec["name"]: spec for spec in metadata["outputs"]}
        for output in response["outputs"]:
            _check_tensor(output["name"], declared[output["name"]], output["datatype"], output["shape"])
        for spec in metadata["inputs"]:
            if spec["name"] in inputs:
                array = inputs[spec["name"]]
                assert array.dtype == DATATYPES[spec["datatype"]].dtype, f"input {spec['name']}"
                _check_tensor(spec["name"], spec, spec["datatype"], list(array.shape))

    def test_golden_inputs_replay(self, service: Service) -> None:
        """The served model reproduces the outputs that the artefact has recorded."""
        service.served_model.probe()

    def test_other_golden_outputs_stop_the_start(self, serve: Serve, served_artefact: Artefact, tmp_path: Path) -> None:
        """A service that computes something else than was calibrated never becomes ready."""
        manifest = served_artefact.manifest
        with np.load(served_artefact.path(manifest.golden)) as recorded:
            arrays = {name: recorded[name] for name in recorded.files}
        changed = {name: array if name == "rows" else array + 1 for name, array in arrays.items()}
        files: dict[str, bytes | Path] = {name: served_artefact.path(name) for name in manifest.files}
        other = write(tmp_path / "other", manifest, files | {manifest.golden: npz.encode(changed)})
        with pytest.raises(ArtefactError, match="does not compute what was calibrated"), serve(artefact=other):
            pytest.fail("the golden outputs are wrong, and the service started")


async def _awaited(call: Any) -> Any:
    return await call


def _check(document: Any, contents: Any, value: Any) -> None:
    """Check a value against the JSON schema of a request or response."""
    schema = contents["application/json"]["schema"] | {"components": document["components"]}
    problems = [
        f"{error.json_path}: {error.message[:200]}" for error in Draft202012Validator(schema).iter_errors(value)
    ]
    assert problems == []


def _check_tensor(name: str, spec: Any, datatype: str, shape: list[int]) -> None:
    """Check datatype and shape against metadata, where -1 is any size."""
    assert datatype == spec["datatype"], f"tensor {name}"
    assert len(shape) == len(spec["shape"]), f"tensor {name}: shape {shape}, declared {spec['shape']}"
    fits = all(declared in (-1, size) for size, declared in zip(shape, spec["shape"], strict=True))
    assert fits, f"tensor {name}: shape {shape}, declared {spec['shape']}"
