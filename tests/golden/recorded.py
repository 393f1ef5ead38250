"""What the service says in each protocol, by name: descriptions of bodies, answers, and how requests are read."""

import base64
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import msgspec
import numpy as np
from google.protobuf.json_format import MessageToDict
from prometheus_client import CollectorRegistry

from demur.v1 import labels_pb2
from models import artefact
from services.app.assembly import assemble
from services.labels.intake import Outcome
from services.labels.label_types import Batch, Request, RevealedPrediction
from services.labels.label_validation import Rejection
from services.labels.neighbours import Neighbour, Neighbours
from services.labels.queue_entries import ClaimedRequest, Lease
from services.labels.resolution_view import ResolutionView
from services.labels.waiting_requests import WaitingPage, WaitingRequest
from services.ledger.contract import Committed
from services.policy.log import Entry
from services.request.contract import Description
from services.request.metrics import Metrics
from services.runtime.errors import DemurError, InvalidInput
from services.transport.grpc import codec, label_messages, policies, review_messages
from services.transport.grpc.plain import plain
from services.transport.http import label_bodies, review_bodies
from services.transport.http import policies as policy_routes
from services.transport.http import schema as http_schema
from services.transport.http.body import describe
from services.transport.http.openapi import openapi
from services.transport.oip import bodies as oip_bodies
from services.transport.oip import messages as oip_messages
from services.transport.oip.model import OipModel
from services.transport.oip.protocol import oip_pb2
from services.transport.served_model import ServedModel
from tests.fuzz import tenants
from tests.golden import portions
from tests.golden.requests import BODIES, FORMS, INPUTS, MESSAGES

ARTEFACTS = {
    "vessel": "vessel/dnn-1",
    "vessel ensemble": "vessel/dnn-10",
    "weather": "weather/catboost-1",
    "weather ensemble": "weather/catboost-10",
    "motion": "motion/bc-5",
    "lesion": "lesion/unet-5",
    "translation": "translation/transformer-3",
}
LEASE = {"lease": "a"}
UNITS = {"units": ["0000000000000abc-1"]}
Json = dict[str, Any]


def recorded() -> Json:
    """Everything, by name."""
    document: Json = {}
    for name, place in ARTEFACTS.items():
        tenant = served(place)
        document |= {f"{name}: {what}": value for what, value in described(tenant).items()}
        document |= {f"{name}: {what}": value for what, value in answered(name, tenant).items()}
        document |= {f"{name}: {what}": value for what, value in asked(name, tenant).items()}
    return _plain(document | dict(labelled()) | dict(read_labels()))


def served(place: str) -> ServedModel:
    task = place.partition("/")[0]
    source = artefact.read(tenants.PROJECT / "artefacts" / place)
    return assemble(source, tenants.settings(task), Metrics(task, CollectorRegistry())).tenant


def model_of(tenant: ServedModel) -> OipModel:
    return OipModel(tenant, Metrics("golden", CollectorRegistry()), lambda: True)


def described(tenant: ServedModel) -> Json:
    """What a tenant says of itself; policies depend on the machine's numeric profile, and are not among it."""
    model = model_of(tenant)
    description = codec.describe(tenant.description, tuple(map(portions.policy, tenant.description.heads)))
    return {
        "openapi": openapi(tenant),
        "description": json_description(tenant.description),
        "description over grpc": message(description),
        "metadata": portable(model.metadata()),
        "metadata over grpc": portable(MessageToDict(oip_messages.metadata(model))),
        "config": portable(model.config()),
    }


def json_description(description: Description) -> Json:
    """Return a description with the features as ``/v1/schema`` shows them."""
    plain = msgspec.to_builtins(description)
    if description.schema is not None:
        plain["schema"]["features"] = http_schema.described(description.schema)
    return plain


def portable(description: Json) -> Json:
    """Return metadata without the intervals, which depend on the machine's numeric profile."""
    kept = {name: value for name, value in description["parameters"].items() if "interval_" not in name}
    return description | {"parameters": kept}


def answered(name: str, tenant: ServedModel) -> Json:
    """Answers of fixed portions in every form."""
    forms: Json = {}
    for what, answers in fixed(name, tenant):
        made: Any = tenant.grpc.answer(answers)
        forms[f"json of {what}"] = msgspec.json.decode(msgspec.json.encode(tenant.http.answer_json(answers)))
        forms[f"grpc of {what}"] = message(made)
        forms[f"plain grpc of {what}"] = message(plain(made))
        if tenant.http.files is not None and tenant.http.archived is not None:
            forms[f"files of {what}"] = [tenant.http.files(answers), tenant.http.archived(answers)]
        if tenant.grpc.stream is not None:
            stream: Any = tenant.grpc.stream
            forms[f"frames of {what}"] = [message(frame) for frame, _ in stream.results(5, answers, 0)]
            items = [stream.item(5, portion) for portion in answers]
            forms[f"item frames of {what}"] = [None if item is None else message(item[0]) for item in items]
    model = model_of(tenant)
    names = frozenset(spec.name for spec in tenant.oip.outputs)
    for what, answers in fixed(name, tenant, arrays=True):
        outputs = tenant.oip.answer(answers, names)
        question: Any = SimpleQuestion("7", names)
        answer = model.answered(question, outputs)
        forms[f"tensors of {what}"] = infer_response(oip_messages.response(model, answer))
        body = oip_bodies.response(model, answer, oip_bodies.OutputForms(True, {"uncertainty": False}))
        forms[f"tensors over http of {what}"] = [body.content, body.headers.get(oip_bodies.HEADER_LENGTH)]
        items = [tenant.oip.item(portion, names) for portion in answers]
        forms[f"tensors of items of {what}"] = [
            None if item is None else infer_response(oip_messages.response(model, model.answered(question, item)))
            for item in items
        ]
    return forms


class SimpleQuestion:
    """A question of which only its id and the output_names outputs are known."""

    def __init__(self, id: str, output_names: frozenset[str]) -> None:
        self.id, self.output_names = id, output_names


def fixed(name: str, tenant: ServedModel, *, arrays: bool = False) -> Iterator[tuple[str, list[Any]]]:
    """Portions of a task with their names."""
    task, ensemble = tenant.description.task, "ensemble" in name
    if tenant.description.schema is not None and task in ("vessel", "weather"):
        heads = tenant.description.heads
        for members, withhold in ((False, False), (True, False), (True, True)):
            what = f"rows, members {members}, withhold {withhold}"
            yield what, [portions.rows(heads, ensemble=ensemble, members=members, withhold=withhold)]
            what = f"{what}, intervals"
            yield what, [portions.rows(heads, ensemble=ensemble, members=members, withhold=withhold, intervals=True)]
        return
    for ensemble in (True, False):
        for withhold in (False, True):
            what = f"{'ensemble' if ensemble else 'single'}, withhold {withhold}"
            if task == "motion":
                for scene in (True, False):
                    yield f"{what}, scene {scene}", portions.motion(ensemble=ensemble, withhold=withhold, scene=scene)
            elif task == "lesion":
                for advice in (True, False):
                    answers = portions.lesion(ensemble=ensemble, withhold=withhold, advice=advice, arrays=arrays)
                    yield f"{what}, advice {advice}", answers
            else:
                for tokens in ("none", "best", "all") if ensemble or not arrays else ():
                    answers = portions.translation(ensemble=ensemble, withhold=withhold, tokens=tokens)
                    yield f"{what}, tokens {tokens}", answers


def asked(name: str, tenant: ServedModel) -> Json:
    """How requests are read, good and bad ones."""
    task = tenant.description.task
    results: Json = {}
    for place, body in enumerate(BODIES.get(task, ())):
        content = body if isinstance(body, bytes) else msgspec.json.encode(body)
        results[f"body {place}"] = read(lambda content=content: tenant.http.read_json(content))
    if (form := tenant.http.form) is not None:
        for place, fields in enumerate(FORMS[task]):
            results[f"form {place}"] = read(lambda fields=fields, form=form: form.read(fields))
    for place, request in enumerate(MESSAGES.get(task, ())):
        results[f"message {place}"] = read(lambda proto=request: tenant.grpc.read(proto))
    model = model_of(tenant)
    for place, inputs in enumerate(INPUTS.get(task, ())):
        question = oip_pb2.ModelInferRequest(id="1", **inputs)

        def understood(question: Any = question) -> Any:
            taken = model.read(oip_messages.question(question))
            return [taken.request, sorted(taken.output_names)]

        results[f"tensors {place}"] = read(understood)
    return results


def read(call: Callable[[], Any]) -> Any:
    """What was read, or the refusal without its text."""
    try:
        return call()
    except DemurError as error:
        return {"refused": {field: value for field, value in describe(error).items() if field != "message"}}


def labelled() -> Iterator[tuple[str, Any]]:
    """Bodies and messages of labels, requests, resolutions and policies."""
    head = tenants.tenant("vessel").description.heads[0]
    claimed = ClaimedRequest("f" * 32, "lease", 12.5, None, True, head.name, b"", None, None)
    columns = {"columns": [{"name": "a", "value": 1.5, "unit": "m", "description": "A."}], "media_type": "x"}
    batch = Batch(bytes([1, 2, 6]), (Rejection(2, InvalidInput("no unit", code="bad_unit", field="unit", value="x")),))
    values: tuple[object, ...] = (1.5, "text", b"file", [[1.0, 2.0], None])
    yield "labels: batch", [label_bodies.batch_json(batch), message(label_messages.batch_message(batch))]
    yield (
        "labels: outcomes",
        [[label_bodies.outcome_json(outcome), label_messages.outcome_number(outcome)] for outcome in Outcome],
    )
    for inputs in (None, columns, {"media_type": "text/plain", "base64": "YQ=="}):
        request = Request(claimed, head, inputs, b"a")
        yield (
            f"labels: request {inputs is None} {'columns' in (inputs or ())}",
            [review_bodies.request_json(request), message(review_messages.request_message(request))],
        )
    drafted = replace(claimed, queue="drafts")
    paths = {"plans": [[[1.0, 2.0], None]], "weights": [None]}
    predictions: tuple[object, ...] = (None, 1.5, b"file", {"texts": ["a"], "confidences": [0.5]}, paths)
    for place, prediction in enumerate(predictions):
        request = Request(drafted, head, None, None, prediction, (1.5, 2.0))
        yield (
            f"labels: draft {place}",
            [review_bodies.request_json(request), message(review_messages.request_message(request))],
        )
        revealed = RevealedPrediction(head, prediction, 0.25, None, True, "tvar", 3.5)
        yield (
            f"labels: revealed {place}",
            [review_bodies.revealed_json(revealed), message(review_messages.revealed_message(revealed))],
        )
    page = WaitingPage((WaitingRequest("f", head.name, 1.5, None, "claimed", True, False),), "f")
    rows = (Neighbour(-61.0, (1.5, None)),), (Neighbour(0.0, (2.5, -3.0)),)
    around = Neighbours(("speed", "wave"), *rows)
    yield "labels: neighbours", [msgspec.to_builtins(around), message(review_messages.neighbours_message(around))]
    yield "labels: waiting", [review_bodies.waiting_json(page), message(review_messages.waiting_message(page))]
    for until in (None, 1.5):
        lease = Lease("r", "claimed", until)
        yield f"labels: lease {until}", [review_bodies.lease_json(lease), message(review_messages.lease_message(lease))]
    for value in values:
        resolution = ResolutionView((1, 2), "resolved", "labelled", "power", value, "a label", "census", 2, 3.5, 4.5)
        yield (
            f"labels: resolution {value!r}",
            [resolution.json(), message(label_messages.resolution_message(resolution))],
        )
    bare = ResolutionView((1, 2), "unknown", "", "")
    yield "labels: no resolution", [bare.json(), message(label_messages.resolution_message(bare))]
    committed = Committed(3, ((1, 2),))
    told_so = [label_bodies.committed_json(committed), message(label_messages.committed_message(committed))]
    yield "labels: committed", told_so
    for threshold in (0.5, float("-inf")):
        one_policy = portions.policy(head, threshold=threshold)
        entry = Entry(2, 1.5, "who", "why", one_policy)
        shown = [policy_routes.shown(one_policy), message(codec.policy_spec(one_policy))]
        yield f"policies: {threshold}", [*shown, policy_routes._event(entry), message(policies._event(entry))]


def read_labels() -> Iterator[tuple[str, Any]]:
    """Bodies about labels and policies as they are read."""
    label = {"unit": "0000000000000abc-1", "value": 1.5}
    bodies: Json = {
        "LabelsBody": (
            {"labels": [label, label | {"version": 2.0, "observed": 1}, label | {"version": 1.5}, {"unit": 1}]},
            {"labels": [label | {"head": "power", "source": "census", "key": "k"}], "head": "x", "source": "y"},
            {"labels": [label | {"source": None, "head": None}, {"unit": "a", "value": [[1, 2], None], "no": 1}]},
            {"labels": {}},
            {},
        ),
        "ClaimBody": ({}, {"count": 2.0, "seconds": 3, "head": "power"}, {"count": "x"}, b""),
        "ReleaseBody": (LEASE, {}, {"lease": 1}, LEASE | {"no": 1}),
        "ExtendBody": (LEASE, LEASE | {"seconds": 5}),
        "SkipBody": (LEASE, LEASE | {"reason": "r", "unlabelable": True}),
        "AnswerBody": (LEASE | {"value": {"base64": "YQ=="}}, LEASE | {"value": 1, "observed": None}),
        "UnitsBody": (UNITS, UNITS | {"wait": 5}, {"units": [1]}),
        "CallbackBody": (UNITS | {"url": "https://x"}, UNITS),
        "EraseBody": (UNITS | {"reason": "r"}, UNITS),
        "CommitBody": (UNITS, b"[]"),
    }
    for name, examples in bodies.items():
        for place, body in enumerate(examples):
            content = body if isinstance(body, bytes) else msgspec.json.encode(body)

            yield f"labels: {name} {place}", read(partial(read_body, content, _body_kind(name)))
    changes: tuple[Any, ...] = (
        {},
        {"target_retention": 0.9, "reason": "r", "author": "a", "expected": "v"},
        {"certificate": {"b": 1, "a": 2}, "audits": "stratified", "defer_on_shift": True, "withhold": None},
        {"audits": "no"},
        {"threshold": "1"},
        {"defer_all": True, "no": 1},
    )
    for place, body in enumerate(changes):
        content = msgspec.json.encode(body)
        yield f"policies: change {place}", read(lambda content=content: policy_routes.read_change("power", content))
    sent = labels_pb2.SubmitLabelsRequest(
        labels=[labels_pb2.Label(unit="a", value=labels_pb2.LabelValue(number=1.0), version=2)],
        packed=labels_pb2.PackedLabels(epoch=1, sequences=b"\1" + b"\0" * 7, values=b"\0" * 8),
    )
    yield "labels: message", read(lambda: label_messages.labels(sent))


def _body_kind(name: str) -> Any:
    module = label_bodies if hasattr(label_bodies, name) else review_bodies
    return getattr(module, name)


def read_body(content: bytes, kind: Any) -> Any:
    """A body about labels; of a batch its labels, each read or refused."""
    body: Any = label_bodies.read(content, kind)
    if kind is not label_bodies.LabelsBody:
        return body
    return [
        describe(label) if isinstance(label, DemurError) else label for label in label_bodies.submitted_labels(body)
    ]


def message(proto: Any) -> str:
    """The bytes of a message, the same every time."""
    content: bytes = proto.SerializeToString(deterministic=True)
    return base64.b64encode(content).decode()


def infer_response(content: bytes) -> str:
    """The bytes of an answer over the Open Inference Protocol, the same every time."""
    return message(oip_pb2.ModelInferResponse.FromString(content))


def _plain(value: Any) -> Any:
    """As JSON has it, NaN as text."""
    return _exact(msgspec.to_builtins(value, enc_hook=_listed, str_keys=True))


def _exact(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _exact(element) for name, element in value.items()}
    if isinstance(value, list | tuple):
        return [_exact(element) for element in value]
    if isinstance(value, float) and not np.isfinite(value):
        return str(value)
    return value


def _listed(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return f"{type(value).__name__} {getattr(value, 'name', value)}"
