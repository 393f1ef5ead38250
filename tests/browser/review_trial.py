"""Reviewers in real browsers that work by keys, while browsers, console and service are killed at random."""

import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from sqlalchemy import Connection, Engine, and_, func, or_, select, tuple_, update

from services.ledger.database import Database
from services.ledger.tables import OPEN, item, opinion, request_event
from services.ledger.unit_ids import Unit, parse_unit
from tests.browser.chromium import Page, chromium
from tests.browser.views import log_in
from tests.services.review.consoles import SITUATION, Consoles

REVIEWERS = ("anna", "ben", "cleo")
NUMBER = "timeSinceDryDock"
"""Column by which a situation is known again; its reviewers' label is the same number."""
FIRST_NUMBER = 1_000_000
_ROWS = 500
_SHOWN = f"""(() => {{
  const row = [...document.querySelectorAll('.columns-table tr')].find(row => row.title && row.querySelector('th span')
    && row.querySelector('th span').innerText === '{NUMBER}');
  const label = document.querySelector('#label');
  return row && label && label.value === '' ? row.querySelector('td.num').innerText.replace(/[^0-9]/g, '') : '';
}})()"""
EVENTS = {"reload": 0.25, "offline": 0.2, "lease": 0.2, "browser": 0.15, "console": 0.1, "service": 0.1}
"""Kinds of events and their probabilities."""


def send_situations(running: Consoles, count: int, first: int = FIRST_NUMBER) -> dict[Unit, int]:
    """Send situations with numbers from ``first`` on, which are all deferred; return the number of each by its unit."""
    numbers: dict[Unit, int] = {}
    for begin in range(first, first + count, _ROWS):
        own = range(begin, min(begin + _ROWS, first + count))
        rows = [SITUATION | {NUMBER: float(number), "awind_vcomp_provider": 40.0} for number in own]
        answer = httpx.post(f"{running.vessel}/v1/predict", json={"rows": rows}, timeout=60)
        for unit, number in zip(answer.json()["power"]["prediction_ids"], own, strict=True):
            numbers[parse_unit(unit)] = number
    return numbers


@dataclass
class Trial:
    """State that reviewers and events share."""

    running: Consoles
    program: str
    folder: Path
    ended: threading.Event = field(default_factory=threading.Event)
    answers: Counter[str] = field(default_factory=Counter)
    """Answers by reviewer."""
    events: Counter[str] = field(default_factory=Counter)
    problems: Counter[str] = field(default_factory=Counter)
    """Number of failed steps of browsers while something was down, by the beginning of the message."""

    def __post_init__(self) -> None:
        path = self.running.home / "ledger" / "vessel.db"
        self.engine: Engine = Database(f"sqlite:///{path}").writing()

    def open_units(self) -> int:
        """Number of requests and opinions that wait or are claimed, without opinions that nobody may get any more."""
        wait = ("requested", "claimed")
        with self.engine.connect() as connection:
            counts = [
                connection.scalar(
                    select(func.count()).select_from(table).where(or_(*(table.c.state == s for s in wait)))
                )
                for table in (item, opinion)
            ]
        return sum(count or 0 for count in counts) - len(self.lapsed_opinions())

    def lapsed_opinions(self) -> set[str]:
        """Ids of opinions that nobody may give: all but the author have had the unit, as a request or an opinion."""
        with self.engine.connect() as connection:
            waiting = connection.execute(select(opinion).where(opinion.c.state == "requested")).all()
            return {row.request for row in waiting if set(REVIEWERS) - {row.author} <= self._had(connection, row)}

    def _had(self, connection: Connection, waiting: Any) -> set[str]:
        """Return who has had the unit of an opinion, without those who may get it again."""
        unit = (waiting.epoch, waiting.sequence)
        claimed = (request_event.c.state == "claimed", tuple_(request_event.c.epoch, request_event.c.sequence) == unit)
        had = set(connection.scalars(select(request_event.c.actor).where(*claimed)))
        shown = and_(item.c.epoch == waiting.shown_epoch, item.c.sequence == waiting.shown_sequence)
        may_come_again = waiting.shown_epoch is None or connection.scalar(select(item.c.state).where(shown)) in OPEN
        for row in connection.execute(select(opinion).where(tuple_(opinion.c.epoch, opinion.c.sequence) == unit)):
            if row.request != waiting.request or not may_come_again:
                had |= set(row.handed_to.split())
        return had

    def end_leases(self, share: float = 1.0) -> None:
        """End leases that are held now."""
        with self.engine.begin() as connection:
            for table in (item, opinion):
                own = select(table).where(table.c.state == "claimed")
                for row in connection.execute(own).all():
                    if random.random() < share:
                        same = table.c.lease == row.lease
                        connection.execute(update(table).where(same).values(lease_until=time.time() - 1))


class Reviewer(threading.Thread):
    """A reviewer who types the number of each situation; a killed browser is opened again with the same profile."""

    def __init__(self, trial: Trial, name: str) -> None:
        super().__init__(daemon=True)
        self.trial, self.reviewer = trial, name
        self.commands: list[str] = []
        self._source = random.Random(name)
        self._profile = trial.folder / name
        self._profile.mkdir()

    def run(self) -> None:
        while not self.trial.ended.is_set():
            try:
                with chromium(self.trial.program, profile=self._profile) as page:
                    self._work(page)
            except (AssertionError, OSError, KeyError) as error:  # the page stands still while something is down
                self.trial.problems[str(error)[:60]] += 1

    def _work(self, page: Page) -> None:
        log_in(page, self.trial.running.url, self.reviewer)
        self._begin(page)
        idle = 0
        while not self.trial.ended.is_set():
            if self.commands and not self._obey(page, self.commands.pop(0)):
                return
            number = page.value(_SHOWN)
            if not number:
                idle += 1
                time.sleep(0.02)
                if idle > 100:  # nothing waits here, or a dialog of a lost session
                    page.press("Enter", "Shift")
                    time.sleep(0.2)
                    page.reload()
                    self._begin(page)
                    idle = 0
                continue
            idle = 0
            page.type(number)
            page.press("Enter")
            self.trial.answers[self.reviewer] += 1
            if self._source.random() < 0.1:
                page.press("Enter", "Shift")

    def _begin(self, page: Page) -> None:
        page.value("location.hash = '#/review/vessel/power/blind'")
        page.until("document.querySelector('#label') || document.querySelector('main')", 20)

    def _obey(self, page: Page, command: str) -> bool:
        """Return false where the browser is to be killed."""
        if command == "browser":
            return False
        if command == "reload":
            page.reload()
            self._begin(page)
        else:
            _network(page, offline=True)
            end = time.monotonic() + self._source.uniform(0.2, 2)
            while time.monotonic() < end and (number := page.value(_SHOWN)):
                page.type(number)
                page.press("Enter")
                self.trial.answers[self.reviewer] += 1
            _network(page, offline=False)
        return True


def _network(page: Page, *, offline: bool) -> None:
    page.call(
        "Network.emulateNetworkConditions", offline=offline, latency=0, downloadThroughput=-1, uploadThroughput=-1
    )


def disturb(trial: Trial, reviewers: list[Reviewer], count: int, seed: int, progress: Callable[[str], None]) -> None:
    """Let so many events happen, each after some more answers."""
    source = random.Random(seed)
    kinds = source.choices(list(EVENTS), list(EVENTS.values()), k=count)
    for number, kind in enumerate(kinds):
        before, end = trial.answers.total(), time.monotonic() + 3
        while trial.answers.total() < before + source.randint(1, 5) and time.monotonic() < end:
            time.sleep(0.02)
        _happen(trial, reviewers, kind, source)
        trial.events[kind] += 1
        if number % 20 == 19:
            progress(f"{number + 1} events, {trial.answers.total()} answers, {trial.open_units()} open")


def _happen(trial: Trial, reviewers: list[Reviewer], kind: str, source: random.Random) -> None:
    running = trial.running
    if kind == "lease":
        trial.end_leases(0.5)
    elif kind == "console":
        running.kill("review")
        running.start("review")
        running.ready(running.url)
    elif kind == "service":
        running.kill("vessel")
        running.start("serve", "vessel")
        running.ready(running.vessel)
    else:
        source.choice(reviewers).commands.append(kind)


def finish(trial: Trial, reviewers: list[Reviewer], seconds: float, progress: Callable[[str], None]) -> None:
    """Wait until nothing is open; leases of browsers that were killed are ended, as time would."""
    end, reported = time.monotonic() + seconds, 0.0
    while (left := trial.open_units()) and time.monotonic() < end:
        if left < 60:
            with suppress(Exception):
                trial.end_leases()
            time.sleep(3)
        time.sleep(0.5)
        if time.monotonic() - reported > 15:
            reported = time.monotonic()
            progress(f"{trial.answers.total()} answers, {left} open")
    time.sleep(1)
    trial.ended.set()
    for reviewer in reviewers:
        reviewer.join(60)
