"""Who is let in, on a clock that passes only where a test says so: floods, bursts, ordinary days."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.request.admission import BURST, PATIENCE_SECONDS, Crowd, Room, Ticket
from services.request.contract import Priority
from services.runtime.errors import Busy
from tests.services.scheduling import Clock

MOST = 6
SERVICE = 0.0007
"""Seconds of an answer, in the simulation of one server."""


class Server:
    """Answers one after the other in the order in which they came; what a crowd refuses costs a share of an answer."""

    def __init__(self, refusal: float = 0.0, service: float = SERVICE) -> None:
        self.clock = Clock()
        self.crowd = Crowd(MOST, self.clock)
        self.latency: list[float] = []
        self.came: list[float] = []
        """Moments at which those came who were let in."""
        self.refused: list[float] = []
        self._start = self.clock.now
        self._service = service
        self._refusal = refusal
        self._inside: deque[float] = deque()
        self._done = 0.0
        """When the first of them is answered."""

    def run(self, arrivals: Iterable[float]) -> Server:
        for moment in arrivals:
            self._work(moment)
            self.clock.now = self._start + moment
            if not self.crowd.enter():
                self.refused.append(moment)
                self._done += self._refusal * self._service
                continue
            if not self._inside:
                self._done = moment + self._service
            self._inside.append(moment)
        self._work(np.inf)
        return self

    def _work(self, until: float) -> None:
        while self._inside and self._done <= until:
            came = self._inside.popleft()
            self.clock.now = self._start + self._done
            self.crowd.leave()
            self.latency.append(self._done - came)
            self.came.append(came)
            self._done += self._service


def poisson(load: float, seconds: float, seed: int = 1, service: float = SERVICE) -> np.ndarray:
    """Arrivals at so many times what the server can do."""
    draw = np.random.default_rng(seed)
    return np.cumsum(draw.exponential(service / load, round(seconds * load / service)))


def p99(server: Server, since: float = 0.0, until: float = np.inf) -> float:
    came = np.array(server.came)
    return float(np.quantile(np.array(server.latency)[(came >= since) & (came <= until)], 0.99))


@pytest.mark.parametrize("refusal", [0.0, 0.05, 0.1])
@pytest.mark.parametrize("service", [SERVICE, 0.05])
def test_under_a_flood_who_is_answered_waits_for_those_before_and_not_longer(service: float, refusal: float) -> None:
    """Whatever an answer takes on this machine, and while most of the flood is refused."""
    seconds = 4 * service / SERVICE
    flood = Server(refusal, service).run(poisson(5, seconds, service=service))
    settled = 2 * PATIENCE_SECONDS
    answers = (1 - 5 * refusal) / (1 - refusal)  # the share of its time that is left for them
    assert p99(flood, settled) <= 1.5 * (MOST + 1) * service / answers
    assert max(flood.latency) <= 2 * BURST * MOST * service / answers
    assert len(flood.latency) >= 0.8 * answers * seconds / service, "what it can do it still does"


@pytest.mark.parametrize("load", [1.2, 2, 5])
def test_in_overload_nobody_waits_twice_as_long_as_on_a_busy_day(load: float) -> None:
    busy, flood = Server().run(poisson(0.7, 10)), Server(0.1).run(poisson(load, 6))
    assert p99(flood, 1) <= 2.2 * p99(busy)
    assert len(flood.latency) >= 0.5 * 6 / SERVICE


def test_on_a_busy_day_nobody_is_refused() -> None:
    for seed in range(5):
        assert not Server().run(poisson(0.7, 5, seed)).refused


def test_a_burst_from_rest_is_let_in_and_a_flood_is_one_only_at_its_beginning() -> None:
    burst = Server().run(np.full(BURST * MOST, 1.0))
    assert not burst.refused
    assert len(Server().run(np.full(BURST * MOST + 5, 1.0)).refused) == 5
    flood = Server().run(poisson(5, 2))
    inside = np.array(flood.latency) / SERVICE
    late = np.array(flood.came) > 2 * PATIENCE_SECONDS
    assert inside[~late].max() > 2 * MOST
    assert inside[late].max() <= MOST + 1, "its end would be calm; a flood never is"


def test_after_a_flood_all_is_as_before() -> None:
    """Nothing has to be restarted, and nobody pays for those who came before."""
    flood = poisson(5, 2)
    quiet = flood[-1] + 0.1 + poisson(0.7, 3)
    burst = np.full(BURST * MOST, quiet[-1] + 1)
    server = Server(refusal=0.1).run(np.concatenate([flood, quiet, burst]))
    assert max(server.refused) <= flood[-1] + 1, "what is left of it does not keep itself up"
    assert p99(server, quiet[0], quiet[-1]) <= 1.5 * p99(Server().run(poisson(0.7, 3)))


@settings(max_examples=200, deadline=None)
@given(
    most=st.integers(1, 20),
    steps=st.lists(st.tuples(st.sampled_from(["enter", "leave", "wait"]), st.floats(0, 1)), max_size=200),
)
def test_a_crowd_is_never_larger_than_a_burst(most: int, steps: list[tuple[str, float]]) -> None:
    clock = Clock()
    crowd = Crowd(most, clock)
    for step, seconds in steps:
        if step == "wait":
            clock.now += seconds
        elif step == "leave" and crowd.inside:
            crowd.leave()
        elif step == "enter":
            few = crowd.inside < most
            assert crowd.enter() or not few
        assert 0 <= crowd.inside <= most * BURST
    while crowd.inside:
        crowd.leave()
    assert crowd.enter()


def test_a_ticket_is_given_back_once() -> None:
    crowd = Crowd(MOST, Clock())
    assert crowd.enter()
    assert crowd.enter()
    first, second = Ticket(crowd), Ticket(crowd)
    first.give_back()
    first.give_back()
    assert crowd.inside == 1
    second.give_back()
    assert crowd.inside == 0


def room(clock: Clock, **limits: float) -> Room:
    return Room(**({"lanes": 2, "queue_seconds": 10.0, "queue_bytes": 1000, "lane_calls": 3} | limits), clock=clock)


def refused(made: Room, seconds: float, nbytes: int, priority: Priority) -> bool:
    try:
        made.enter(seconds, nbytes, priority)
    except Busy as busy:
        return busy.code == "queue_full" and busy.retry_after_seconds > 0
    return False


def test_bulk_work_fills_the_queue_for_bulk_work_only() -> None:
    made = room(Clock())
    made.enter(20, 1, Priority.BULK)
    assert refused(made, 0.1, 1, Priority.BULK)
    assert not refused(made, 20, 1, Priority.INTERACTIVE), "it goes first"
    assert refused(made, 0.1, 1, Priority.INTERACTIVE)
    made.leave(20, Priority.INTERACTIVE)
    assert refused(made, 0.1, 1, Priority.BULK)


def test_interactive_requests_are_counted_and_bulk_ones_are_not() -> None:
    clock = Clock()
    made = room(clock)
    clock.now += 2 * PATIENCE_SECONDS
    for _ in range(100):
        made.enter(0, 0, Priority.BULK)
    for _ in range(BURST * 6):
        made.enter(0, 0, Priority.INTERACTIVE)
    assert refused(made, 0, 0, Priority.INTERACTIVE), "a burst that is too large"
    clock.now += 2 * PATIENCE_SECONDS
    for _ in range(BURST * 6 - 6):
        made.leave(0, Priority.INTERACTIVE)
        assert refused(made, 0, 0, Priority.INTERACTIVE), "too many for too long"
    made.leave(0, Priority.INTERACTIVE)
    assert not refused(made, 0, 0, Priority.INTERACTIVE)


def test_memory_is_one_for_both_classes_and_held_until_it_is_freed() -> None:
    made = room(Clock())
    made.enter(0, 5000, Priority.BULK)
    assert refused(made, 0, 1, Priority.INTERACTIVE)
    made.leave(0, Priority.BULK)
    assert refused(made, 0, 1, Priority.INTERACTIVE), "a quantum of it still runs"
    made.free(5000)
    assert not refused(made, 0, 5000, Priority.INTERACTIVE), "one may be larger than the queue"


@settings(max_examples=200, deadline=None)
@given(
    requests=st.lists(
        st.tuples(st.floats(0, 30), st.integers(0, 2000), st.sampled_from(list(Priority)), st.booleans()), max_size=60
    )
)
def test_a_room_that_all_have_left_is_empty(requests: list[tuple[float, int, Priority, bool]]) -> None:
    made = room(Clock())
    inside: list[tuple[float, int, Priority]] = []
    for seconds, nbytes, priority, leaves in requests:
        if not refused(made, seconds, nbytes, priority):
            inside.append((seconds, nbytes, priority))
        if leaves and inside:
            gone = inside.pop(0)
            made.leave(gone[0], gone[2])
            made.free(gone[1])
        alone = len(inside) <= 1
        assert alone or sum(entry[1] for entry in inside) <= max(1000, *(entry[1] for entry in inside))
        of_calls = [entry[0] for entry in inside if entry[2] is Priority.INTERACTIVE]
        assert len(of_calls) <= 6 * BURST
        assert sum(of_calls) <= max([20.0, *of_calls]) + 1e-9
    for seconds, nbytes, priority in inside:
        made.leave(seconds, priority)
        made.free(nbytes)
    assert (made.seconds, made.nbytes) == (0, 0)
