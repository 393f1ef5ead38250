"""Labels, units, policies and wishes as both transports read them; a bad label never harms its neighbours."""

import random
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from demur.v1 import labels_pb2, policy_pb2
from models.head import Head
from models.label_errors import BadLabel, label_rule
from models.tasks.lesion.spec import LESIONS
from models.tasks.motion.spec import TRAJECTORIES
from models.tasks.translation.spec import HYPOTHESES
from models.tasks.vessel.spec import POWER
from models.tasks.weather.spec import PRECIPITATION
from services.labels.label_types import LEASE_SECONDS, MOST_CLAIMED, check_range
from services.labels.label_validation import LabelRules
from services.labels.requests import check_reason
from services.policy.changes import PolicyChange, changed, from_json, to_json
from services.policy.decision import Policy, choose
from services.runtime.errors import DemurError, InvalidInput
from services.transport.binding import message_of
from services.transport.grpc import label_messages, policies
from services.transport.grpc.labels import MOST_COMMITTED
from services.transport.http import decoding, label_bodies, review_bodies
from services.transport.http.policies import read_change, shown
from tests.fuzz import made, trees, wire
from tests.fuzz.target import Decoder, Target
from tests.fuzz.targets.requests import answerable, decoder
from tests.fuzz.tenants import text

HEADS = {head.name: head for head in (POWER, PRECIPITATION, HYPOTHESES, TRAJECTORIES, LESIONS)}
UNIT = "0123456789abcdef-7"
NOW = 1_700_000_000.0
VALUES: dict[str, list[Any]] = {
    POWER.name: [1234.5, 7],
    PRECIPITATION.name: [3, 8.0],
    HYPOTHESES.name: ["Собака видит дом."],
    TRAJECTORIES.name: [[[1.0, 2.0], None, [3.0, -4.0]], [0.5] * 50],
    LESIONS.name: [{"base64": trees.written("AAAA").strip('"')}],
}


def rules() -> LabelRules:
    """Of all heads at once."""
    return LabelRules({name: label_rule(head) for name, head in HEADS.items()}, frozenset({POWER.name}))


def batches(folder: Path) -> Decoder:
    """JSON of /v1/labels. A label that is sure to be right comes last, and must be taken whatever came before."""
    known = rules()
    good: Any = {"unit": UNIT, "value": 5.5, "head": POWER.name, "source": "census"}

    def read(case: bytes) -> None:
        body = decoding.json_body(case, label_bodies.LabelsBody)
        body.labels.append(msgspec.Raw(msgspec.json.encode(good)))
        rows, rejected = known.check(label_bodies.submitted_labels(body), NOW)
        assert len(rows) + len(rejected) == len(body.labels)
        assert rows, "no label was taken, though one is right"
        assert (rows[-1].at, rows[-1].value) == (len(body.labels) - 1, struct.pack("<d", 5.5)), "the neighbour suffers"
        for rejection in rejected:
            answerable(_raising(rejection.error))
        for row in rows:
            msgspec.json.encode(label_bodies.from_json(None) or row.version)
            known.judgings[row.head].value(row.value)

    samples = [
        text({"labels": [{"unit": UNIT, "value": value, "head": name, "key": "k", "version": 2, "observed": 1e9}]})
        for name, values in VALUES.items()
        for value in values
    ]
    samples.append(text({"labels": [{"unit": UNIT, "value": 1.5}], "source": "volunteered", "head": POWER.name}))
    return Decoder(samples, answerable(read), (DemurError,), trees.mutated)


def label_message_bytes(folder: Path) -> Decoder:
    """Messages of LabelService.Submit."""
    known = rules()
    receive = decoder(message_of(labels_pb2.SubmitLabelsRequest))

    def read(case: bytes) -> None:
        labels = label_messages.labels(receive(case))
        rows, rejected = known.check(labels, NOW)
        assert len(rows) + len(rejected) == len(labels)
        assert [rejection.at for rejection in rejected] == sorted({rejection.at for rejection in rejected})

    values = [
        labels_pb2.LabelValue(number=2.5),
        labels_pb2.LabelValue(text="дом"),
        labels_pb2.LabelValue(doubles=np.arange(50.0).tobytes()),
        labels_pb2.LabelValue(file=made.scan(mask=True)),
    ]
    names = [POWER.name, HYPOTHESES.name, TRAJECTORIES.name, LESIONS.name]
    labels = [
        labels_pb2.Label(unit=UNIT, value=value, head=name, key="a", version=1, observed=1e9, source=1)
        for name, value in zip(names, values, strict=True)
    ]
    packed = labels_pb2.PackedLabels(
        epoch=5, sequences=np.arange(3, dtype="<u8").tobytes(), values=np.arange(3.0).tobytes(), head=POWER.name
    )
    samples = [labels_pb2.SubmitLabelsRequest(labels=[label]).SerializeToString() for label in labels]
    samples.append(labels_pb2.SubmitLabelsRequest(packed=packed).SerializeToString())
    return Decoder(samples, answerable(read), (DemurError,), wire.mutated)


def label_values(folder: Path) -> Decoder:
    """What a label may be, of each head in turn: JSON values and bytes of files."""
    known = {name: label_rule(head) for name, head in HEADS.items()}
    names = list(known)

    def read(case: bytes) -> None:
        name, content = names[case[0] % len(names) if case else 0], case[1:]
        value = label_bodies.from_json(decoding.json(content, Any))
        label = known[name].label(value)
        restored = known[name].value(label)
        assert known[name].label(restored) == label, "a label that was told is another label"

    def make(rng: random.Random, sample: bytes) -> bytes:
        return sample[:1] + trees.mutated(rng, sample[1:])

    samples = [bytes([names.index(name)]) + text(value) for name, some in VALUES.items() for value in some]
    return Decoder(samples, answerable(read), (DemurError, BadLabel), make)


def bodies(folder: Path) -> Decoder:
    """The other JSON bodies about labels, with the checks that come before the ledger."""
    kinds: list[tuple[type[Any], dict[str, Any]]] = [
        (review_bodies.ClaimBody, {"count": 5, "seconds": 60.0, "head": "power"}),
        (review_bodies.ExtendBody, {"lease": "a", "seconds": 60.0}),
        (review_bodies.SkipBody, {"lease": "a", "reason": "b", "unlabelable": True}),
        (review_bodies.AnswerBody, {"lease": "a", "value": [1, 2], "observed": 5.0}),
        (label_bodies.UnitsBody, {"units": [UNIT], "wait": 1.0}),
        (label_bodies.CallbackBody, {"units": [UNIT, UNIT], "url": "http://127.0.0.1/a"}),
        (label_bodies.EraseBody, {"units": [UNIT], "reason": "b"}),
        (label_bodies.CommitBody, {"units": [UNIT]}),
    ]

    def read(case: bytes) -> None:
        kind, _ = kinds[case[0] % len(kinds) if case else 0]
        body: Any = decoding.json_body(case[1:], kind)
        for unit in label_bodies.units(getattr(body, "units", [])):
            assert all(0 <= number < 2**63 for number in unit)
        if hasattr(body, "count"):
            check_range("count", body.count, 1, MOST_CLAIMED, "requests")
        if getattr(body, "seconds", None) is not None:
            check_range("seconds", body.seconds, *LEASE_SECONDS, "s")
        if hasattr(body, "reason"):
            check_reason("skip", body.reason)
        if hasattr(body, "value"):
            label_bodies.from_json(body.value)

    def make(rng: random.Random, sample: bytes) -> bytes:
        return sample[:1] + trees.mutated(rng, sample[1:])

    samples = [bytes([index]) + text(sample) for index, (_, sample) in enumerate(kinds)]
    return Decoder(samples, answerable(read), (DemurError,), make)


def runs_of_units(folder: Path) -> Decoder:
    """Units as messages of Commit and Erase name them."""
    receive = decoder(message_of(labels_pb2.CommitRequest))

    def read(case: bytes) -> None:
        units = label_messages.units(receive(case).units, MOST_COMMITTED)
        assert all(0 <= epoch < 2**63 and 0 <= sequence < 2**63 for epoch, sequence in units), "no unit has such an id"

    sample = labels_pb2.CommitRequest(
        units=[{"epoch": 5, "first": 7, "count": 3}, {"epoch": 6, "first": 0, "count": 1}]
    )
    return Decoder([sample.SerializeToString()], answerable(read), (DemurError,), wire.mutated)


def policy_changes(folder: Path) -> Decoder:
    """JSON of a changed policy: what is taken can be kept, read again and shown."""

    def read(case: bytes) -> None:
        _change(read_change(POWER.name, case))

    certificate = {"model": "m", "profile": "cpu", "measure": "tvar", "threshold": 1.0, "promise": {"alpha": 0.1}}
    samples = [
        text({"expected": "power-1", "author": "a", "reason": "b", "threshold": 5.5, "certificate": certificate}),
        text({"audit_rate": 0.5, "audits": "uniform", "defer_on_shift": True, "withhold": False}),
        text({"defer_all": True, "certificate": certificate}),
        text({"target_retention": 0.9}),
    ]
    return Decoder(samples, answerable(read), (DemurError,), trees.mutated)


def policy_messages(folder: Path) -> Decoder:
    """Messages of PolicyService.Set."""
    receive = decoder(message_of(policy_pb2.SetPolicyRequest))

    def read(case: bytes) -> None:
        _change(policies._change(receive(case)))

    certificate = '{"model": "m", "profile": "cpu", "measure": "tvar"}'
    samples = [
        policy_pb2.SetPolicyRequest(head="power", threshold=5.5, certificate=certificate, author="a", reason="b"),
        policy_pb2.SetPolicyRequest(head="power", defer_all=True, certificate=certificate, audits="uniform"),
        policy_pb2.SetPolicyRequest(head="power", audit_rate=0.5, withhold=True),
    ]
    return Decoder([sample.SerializeToString() for sample in samples], answerable(read), (DemurError,), wire.mutated)


def _change(change: PolicyChange) -> None:
    policy = changed(a_policy(), change, None, 0.2)
    again = from_json(to_json(policy))
    assert again == policy or policy.threshold != policy.threshold
    assert again.version == policy.version
    assert msgspec.json.encode(shown(again))


def a_policy(head: Head = POWER) -> Policy:
    """One in force."""
    return choose(
        head, None, model="m", profile="cpu", ensemble=True, target_retention=0.9, fixed_threshold=5.0, audit_rate=0.01
    )


def _raising(error: InvalidInput) -> Callable[[bytes], object]:
    def read(case: bytes) -> object:
        raise error

    return read


TARGETS: dict[str, Target] = {
    "json-labels": Target(5_000, batches),
    "json-label-values": Target(4_500, label_values),
    "json-label-bodies": Target(6_000, bodies),
    "json-policy": Target(3_500, policy_changes),
    "message-labels": Target(3_500, label_message_bytes),
    "message-units": Target(5_000, runs_of_units),
    "message-policy": Target(3_500, policy_messages),
}
