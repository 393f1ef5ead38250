"""Labels, claims and skips as load for ``tests.fault.killing``, and what has to be true after all kills."""

import random
import struct
import uuid
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import grpc

from demur.v1 import labels_pb2
from demur.v1.labels_pb2_grpc import LabelServiceStub
from tests.fault.killing import Address
from tests.ledger_reader import Snapshot

MOST_BATCH = 40


@dataclass
class Labelling:
    """Claims requests and labels or skips them; and gives batches of volunteered labels, again until acknowledged."""

    labelled: dict[str, float] = field(default_factory=dict)
    """Lease of each acknowledged answer of a request, to its value."""
    skipped: set[str] = field(default_factory=set)
    """Actors of acknowledged skips; each skips once."""
    given: dict[str, float] = field(default_factory=dict)
    """Key of each acknowledged label, to its value."""
    claimed: set[str] = field(default_factory=set)
    twice: set[str] = field(default_factory=set)
    """Requests that were handed out again while their lease ran."""
    unsure: list[Any] = field(default_factory=list)
    """Batches whose acknowledgement never came; they are sent again."""
    sent: int = 0

    async def ask(self, address: Address, generator: random.Random) -> None:
        async with grpc.aio.insecure_channel(address.grpc) as channel:
            stub: Any = LabelServiceStub(channel)  # type: ignore[no-untyped-call]
            while True:
                await self._answer_some(stub, generator)
                await self._give_some(stub, generator)

    def judge(self, snapshot: Snapshot) -> list[str]:
        rows = Counter(row["key"] for row in snapshot.labels)
        values = {row["key"]: struct.unpack("<d", row["value"])[0] for row in snapshot.labels}
        leases = {f"lease:{lease}#1": value for lease, value in self.labelled.items()}
        acknowledged = leases | {f"{key}#1": value for key, value in self.given.items()}
        states = {(row["epoch"], row["sequence"]): row["state"] for row in snapshot.items}
        requested = Counter((row["epoch"], row["sequence"]) for row in snapshot.labels if row["source"] == "requested")
        ended = Counter(
            (row["epoch"], row["sequence"]) for row in snapshot.request_events if row["state"] == "labelled"
        )
        skips = Counter(row["actor"] for row in snapshot.request_events if row["state"] == "skipped")
        faults = {
            "acknowledged labels are missing": {key for key in acknowledged if not rows[key]},
            "labels are there more than once": {key for key, count in rows.items() if count > 1},
            "labels have another value": {key for key, v in acknowledged.items() if rows[key] and values[key] != v},
            "units were labelled by two holders": {unit for unit, count in requested.items() if count > 1},
            "labels and states disagree": {unit for unit in requested if states.get(unit) != "labelled"}
            | {unit for unit, state in states.items() if state == "labelled" and unit not in requested},
            "labels and events disagree": {unit for unit in requested | ended if requested[unit] != ended[unit]},
            "acknowledged skips are missing": {actor for actor in self.skipped if skips[actor] != 1},
            "requests were in two hands": self.twice,
        }
        return [f"{len(wrong)} {words}, e.g. {min(wrong)}" for words, wrong in faults.items() if wrong]

    async def _answer_some(self, stub: Any, generator: random.Random) -> None:
        message = labels_pb2.ClaimRequest(count=generator.randrange(1, 6), seconds=86_400)
        for request in (await stub.Claim(message, timeout=60)).requests:
            if request.request in self.claimed:
                self.twice.add(request.request)
            self.claimed.add(request.request)
            if generator.random() < 0.2:
                actor = uuid.uuid4().hex
                skip = labels_pb2.SkipRequest(request=request.request, lease=request.lease, reason="chance")
                await stub.Skip(skip, timeout=60, metadata=(("demur-actor", actor),))
                self.skipped.add(actor)
                continue
            value = generator.random()
            answer = labels_pb2.SubmitClaimedRequest(
                request=request.request, lease=request.lease, value=labels_pb2.LabelValue(number=value)
            )
            await stub.SubmitClaimed(answer, timeout=60)
            self.labelled[request.lease] = value

    async def _give_some(self, stub: Any, generator: random.Random) -> None:
        if self.unsure:
            batch = self.unsure.pop()
        else:
            batch = _batch(generator)
            self.sent += len(batch.labels)
        self.unsure.append(batch)
        answer = await stub.Submit(batch, timeout=60)
        if batch in self.unsure:  # another call may have sent the same meanwhile
            self.unsure.remove(batch)
        assert labels_pb2.LABEL_OUTCOME_REJECTED not in answer.outcomes
        self.given |= {label.key: label.value.number for label in batch.labels}


def _batch(generator: random.Random) -> Any:
    """Labels of units that nobody knows, each with a name of its own."""
    return labels_pb2.SubmitLabelsRequest(
        labels=[
            labels_pb2.Label(
                unit=f"{generator.getrandbits(8):016x}-{generator.getrandbits(20)}",
                value=labels_pb2.LabelValue(number=generator.random()),
                source=labels_pb2.LABEL_SOURCE_VOLUNTEERED,
                key=uuid.uuid4().hex,
            )
            for _ in range(generator.randrange(1, MOST_BATCH))
        ]
    )
