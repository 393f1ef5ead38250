"""A served stream with known truth, written into a real ledger as services write it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, bindparam, insert, update

from models.calibration import Calibration, expected_error, reference_quantiles, retention_table
from models.head import Head
from models.label_errors import label_rule
from services.ledger.database import Database
from services.ledger.migrations import migrate
from services.ledger.segments import Runs, pack
from services.ledger.tables import (
    UNASKED,
    deployment,
    gap,
    item,
    label,
    opinion,
    policy,
    request_event,
    segment,
    writer,
)
from services.policy.decision import Decision

HEAD = Head(
    name="power",
    kind="gaussian",
    unit="kW",
    label="measured shaft power, kW",
    error="squared_error",
    error_unit="kW²",
    acceptable=4.0,
    ensemble_measure="tvar",
    single_measure="mvar",
    knowledge_measure=None,
)
TASK, MODEL, PROFILE = "toy", "toy-ensemble:abc123", "cpu-fp32-stacked"
BEGIN = 1_800_000_000.0
"""Of simulated time, seconds since 1970."""
NOON = BEGIN + 12 * 3600


@dataclass(frozen=True)
class Stream:
    """Units [n] and their true errors; the mean prediction is 0, so that the label is the root of the error."""

    uncertainty: NDArray[np.float32]
    error: NDArray[np.float64]
    deferred: NDArray[np.bool_]
    audited: NDArray[np.bool_]
    propensity: NDArray[np.float64]
    time: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.uncertainty)

    @property
    def asked(self) -> NDArray[np.intp]:
        """Units that a label is asked for."""
        return np.flatnonzero(self.deferred | self.audited)

    def take(self, chosen: Any) -> Stream:
        return Stream(*(getattr(self, name)[chosen] for name in self.__dataclass_fields__))


def simulate(
    n: int,
    seed: int = 1,
    *,
    rate: float = 0.1,
    defer: float = 0.1,
    start: float = BEGIN,
    seconds: float = 3600.0,
    factor: float = 1.0,
) -> Stream:
    """As the recipe of the reference: lognormal uncertainty, hidden failures, the most uncertain deferred."""
    source = np.random.default_rng(seed)
    u = np.exp(source.normal(0, 0.8, n)).astype(np.float32)
    variance = factor * u * np.where(source.random(n) < 0.04, 6.0, 0.85)
    error = np.float32(np.sqrt(variance) * source.normal(size=n)).astype(np.float64) ** 2
    threshold = np.float32(math.exp(0.8 * 1.2816)) if defer == 0.1 else np.quantile(u, 1 - defer)
    deferred = u > threshold
    audited = ~deferred & (source.random(n) < rate)
    time = start + np.sort(source.random(n)) * seconds
    return Stream(u, error, deferred, audited, np.where(deferred, 1.0, rate), time)


def calibration(seed: int = 0) -> Calibration:
    """In-domain data of the same law."""
    known = simulate(20_000, seed)
    return Calibration(
        retention=retention_table("tvar", known.uncertainty),
        reference={"tvar": reference_quantiles(known.uncertainty)},
        expected_error=expected_error("tvar", known.uncertainty, known.error),
    )


class Book:
    """Writes one writer's flushes, as ``services.ledger`` does, but at the time that the test says."""

    def __init__(self, url: str, epoch: int = 77, now: float = BEGIN, task: str = TASK) -> None:
        self.engine, self.epoch, self.task = Database(url).writing(), epoch, task
        self.flush, self.sequence, self.keys = 0, 0, 0
        migrate(self.engine, lambda: now)
        row = {"epoch": epoch, "task": task, "host": "here", "pid": 1, "started": now, "secret": b"s" * 32}
        with self.engine.begin() as connection:
            connection.execute(insert(writer).values(row | {"flush": 0, "journal_end": 0, "heartbeat": now}))

    def write(self, now: float, *changes: Callable[[Connection, dict[str, int]], None]) -> None:
        """One flush at a time."""
        self.flush += 1
        with self.engine.begin() as connection:
            for change in changes:
                change(connection, {"writer": self.epoch, "flush": self.flush})
            values = {"flush": self.flush, "heartbeat": now}
            connection.execute(update(writer).where(writer.c.epoch == self.epoch).values(values))

    def beat(self, now: float, ended: bool = False) -> None:
        values = {"heartbeat": now} | ({"ended": now} if ended else {})
        with self.engine.begin() as connection:
            connection.execute(update(writer).where(writer.c.epoch == self.epoch).values(values))

    def deploy(self, now: float = BEGIN, model: str = MODEL, **more: Any) -> None:
        document = {"head": asdict(HEAD), "model": model, "profile": PROFILE, "members": 10, "schema": []}
        document |= {"calibration": msgspec.to_builtins(calibration())} | more
        row = {"model": model, "head": HEAD.name, "profile": PROFILE, "task": self.task, "time": now}
        text = json.dumps(document)
        self.write(now, lambda c, p: c.execute(insert(deployment).values(row | p | {"document": text})))

    def set_policy(self, now: float, number: int, threshold: float) -> None:
        document = {"measure": "tvar", "threshold": threshold, "mode": "fixed", "target_retention": 0.9}
        row = {"task": self.task, "head": HEAD.name, "number": number, "version": f"v{number}", "time": now}
        row |= {"model": MODEL, "profile": PROFILE}
        row |= {"author": "a", "reason": "r", "document": json.dumps(document)}
        self.write(now, lambda c, p: c.execute(insert(policy).values(row | p)))

    def decide(
        self,
        stream: Stream,
        now: float | None = None,
        model: str = MODEL,
        purpose: str = "decide",
        census: bool = False,
    ) -> int:
        """All units of a stream in one flush; the sequence of the first. Under a census all have items."""
        first = self.sequence
        self.sequence += len(stream)
        at = float(stream.time[-1]) if now is None else now

        def change(connection: Connection, place: dict[str, int]) -> None:
            connection.execute(insert(segment).values(_segment(stream, first, model, purpose) | place))
            requested = set(stream.asked.tolist())
            kept = range(len(stream)) if census else sorted(requested)
            marks = [{"census": int(census), "state": "requested" if unit in requested else UNASKED} for unit in kept]
            items = [_item(stream, unit, self.epoch, first, model) for unit in kept]
            rows = [row | mark | place for row, mark in zip(items, marks, strict=True)]
            if rows and purpose == "decide":
                connection.execute(insert(item), rows)

        self.write(at, change)
        return first

    def label(
        self,
        units: Sequence[int],
        errors: Sequence[float],
        now: float,
        *,
        version: int = 1,
        source: str = "requested",
        epoch: int | None = None,
        state: bool = True,
        received: Sequence[float] | None = None,
        assisted: bool = False,
    ) -> None:
        """Labels by sequence, whose error is given; received now unless times are given."""
        rule = label_rule(HEAD)
        rows = []
        for unit, error, came in zip(units, errors, received or [now] * len(units), strict=True):
            self.keys += 1
            value = rule.label(math.sqrt(error))
            rows.append(
                {
                    "epoch": self.epoch if epoch is None else epoch,
                    "sequence": int(unit),
                    "head": HEAD.name,
                    "source": source,
                    "actor": "somebody",
                    "key": f"k{self.epoch}-{self.keys}",
                    "version": version,
                    "received": float(came),
                    "value": value,
                    "digest": value.hex(),
                    "assisted": int(assisted),
                }
            )

        def change(connection: Connection, place: dict[str, int]) -> None:
            connection.execute(insert(label), [row | place for row in rows])
            if state and source == "requested":
                self._move(connection, place, [row["sequence"] for row in rows], "labelled", now, epoch=epoch)

        self.write(now, change)

    def opine(
        self,
        units: Sequence[int],
        differences: Sequence[float | None],
        now: float,
        *,
        kind: str = "second",
        actor: str = "second",
        number: int = 0,
        state: str = "labelled",
        values: Sequence[bytes] | None = None,
        label_values: Sequence[bytes] | None = None,
    ) -> None:
        """Opinions on units by sequence, whose difference from the label is given.

        Args:
            values: canonical labels.
            label_values: canonical labels that they are compared with, of their own here.
        """
        labels = [
            self._compared_label(unit, value, now) for unit, value in zip(units, label_values or (), strict=False)
        ]
        rows = [
            {"request": f"{kind}{number}-{unit}"[-32:], "epoch": self.epoch, "sequence": int(unit), "head": HEAD.name}
            | {"kind": kind, "number": number, "time": now, "state": state, "author": "somebody", "other_author": ""}
            | {"actor": actor, "received": now, "seconds": 20.0, "difference": difference}
            for unit, difference in zip(units, differences, strict=True)
        ]
        for row, value in zip(rows, values or (), strict=False):
            row |= {"value": value, "digest": value.hex()}
        for row, number_of_label in zip(rows, labels, strict=False):
            row["label"] = number_of_label
        self.write(now, lambda c, p: c.execute(insert(opinion), [row | p for row in rows]))

    def _compared_label(self, unit: int, value: bytes, now: float) -> int:
        """Id of a further label of a unit."""
        self.keys += 1
        row = {"epoch": self.epoch, "sequence": int(unit), "head": HEAD.name, "source": "volunteered"}
        row |= {"actor": "somebody", "key": f"c{self.keys}", "version": 1, "received": now, "value": value}
        numbers: list[int] = []

        def change(connection: Connection, place: dict[str, int]) -> None:
            written = connection.execute(insert(label).values(row | {"digest": value.hex(), "assisted": 0} | place))
            numbers.append(int(written.inserted_primary_key[0]))

        self.write(now, change)
        return numbers[0]

    def move(self, units: Sequence[int], state: str, now: float, propensity: float | None = None) -> None:
        """Requests that change."""
        self.write(now, lambda c, p: self._move(c, p, units, state, now, propensity))

    def _move(
        self,
        connection: Connection,
        place: dict[str, int],
        units: Sequence[int],
        state: str,
        now: float,
        propensity: float | None = None,
        epoch: int | None = None,
    ) -> None:
        owner = self.epoch if epoch is None else epoch
        events = [
            {"epoch": owner, "sequence": int(unit), "time": now, "state": state, "actor": "a", "reason": ""}
            | {"propensity": propensity}
            | place
            for unit in units
        ]
        connection.execute(insert(request_event), events)
        mine = (item.c.epoch == owner) & (item.c.sequence == bindparam("s"))
        connection.execute(update(item).where(mine).values(state=state), [{"s": int(unit)} for unit in units])

    def lose(self, start: float, end: float, units: int, reason: str = "disk full") -> None:
        row = {"from_time": start, "to_time": end, "units": units, "reason": reason}
        self.write(end, lambda c, p: c.execute(insert(gap).values(row | p)))


def label_asked(book: Book, stream: Stream) -> float:
    """Decides a stream and gives all labels asked for, each a second after its unit; the time after the last."""
    first = book.decide(stream)
    now, labelled = float(stream.time[-1]) + 1, stream.asked
    book.label(
        (first + labelled).tolist(), stream.error[labelled].tolist(), now, received=(stream.time[labelled] + 1).tolist()
    )
    book.beat(now)
    return now


def _segment(stream: Stream, first: int, model: str, purpose: str) -> dict[str, Any]:
    decisions = np.where(stream.deferred, Decision.DEFER, Decision.ANSWER).astype(np.uint8)
    rates = stream.propensity[~stream.deferred]
    constant = float(rates[0]) if len(rates) and (rates == rates[0]).all() else None
    starts = np.arange(len(stream), dtype=np.uint64) + np.uint64(first)
    runs = Runs(
        first=starts,
        count=np.ones(len(stream), np.uint32),
        time=stream.time,
        uncertainty=stream.uncertainty,
        decisions=decisions,
        propensity=constant if constant is not None else stream.propensity.astype(np.float32),
    )
    return {
        "part": 0,
        "head": HEAD.name,
        "model": model,
        "policy": "v1",
        "purpose": purpose,
        "count": len(stream),
        "deferred": int(stream.deferred.sum()),
        "first_time": float(stream.time[0]),
        "last_time": float(stream.time[-1]),
        "body": pack(runs) if purpose == "decide" else None,
    }


def _item(stream: Stream, place: int, epoch: int, first: int, model: str) -> dict[str, Any]:
    return {
        "epoch": epoch,
        "sequence": first + place,
        "head": HEAD.name,
        "model": model,
        "policy": "v1",
        "time": float(stream.time[place]),
        "uncertainty": float(stream.uncertainty[place]),
        "decision": int(Decision.DEFER if stream.deferred[place] else Decision.ANSWER),
        "propensity": float(stream.propensity[place]),
        "evidence": np.float32(0).astype("<f4").tobytes(),
        "priority": place,
    }
