"""Deliveries: to allowed addresses only, signed, until they are taken, through kills; one that comes twice says so."""

import asyncio
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import demur
from services.labels.label_options import Options
from services.labels.label_validation import SubmittedLabel
from services.labels.outbox import ATTEMPTS, release_waiting
from services.labels.periodic_jobs import PeriodicJobs
from services.labels.webhooks import Webhooks, post
from services.ledger.tables import delivery, item
from services.ledger.unit_ids import unit_text
from services.runtime.addresses import allowed, is_address
from services.runtime.errors import InvalidInput
from services.runtime.settings import Settings
from services.runtime.variables import SettingsError
from tests.services.labels.label_services import EPOCH, Opened, opened

SECRET = b"sixteen letters!"


class Receiver:
    """Takes deliveries in the test's process, and answers as it is told."""

    def __init__(self, *codes: int) -> None:
        self.codes = list(codes)
        self.got: list[tuple[str, bytes, Mapping[str, str]]] = []

    def __call__(self, url: str, body: bytes, headers: Mapping[str, str]) -> tuple[int, str]:
        self.got.append((url, body, headers))
        code = self.codes.pop(0) if self.codes else 200
        return code, f"{code} told"

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return [json.loads(body) for _, body, _ in self.got]


def sending(ledger: Opened, receiver: Any) -> Webhooks:
    return Webhooks(ledger.writer, ledger.label_service.compose, SECRET, wall=ledger.wall, send=receiver)


async def deliveries(ledger: Opened) -> list[tuple[str, int, str]]:
    return [tuple(row) for row in await ledger.rows(delivery, "state", "attempts", "status")]  # type: ignore[misc]


URL = "http://127.0.0.1:9/hook"


async def test_a_label_is_delivered_signed_once_it_is_there(ledger_url: str) -> None:
    receiver = Receiver()
    async with opened(ledger_url) as ledger:
        first, second = await ledger.units([0, 1])
        await ledger.take(SubmittedLabel(second, 2.0))
        assert await ledger.label_service.call_back([first, second], URL) == 2
        assert await ledger.label_service.call_back([first, second], URL) == 0, "the same again is as once"
        webhooks = sending(ledger, receiver)
        assert await webhooks.round() == 1, "one has its label already"
        assert await webhooks.round() == 0
        await ledger.take(SubmittedLabel(first, 1.0), SubmittedLabel(first, 5.0, source="volunteered"))
        assert await webhooks.round() == 1
        assert [(b["kind"], b["unit"], b["value"]) for b in receiver.bodies] == [
            ("resolution", unit_text(second), 2.0),
            ("resolution", unit_text(first), 1.0),
        ]
        url, body, headers = receiver.got[0]
        assert url == URL
        assert headers["demur-delivery"] == json.loads(body)["id"]
        signature = headers["demur-signature"]
        assert signature.startswith(f"t={int(ledger.wall.now)},v1=")
        demur.verify_webhook(body, signature, SECRET, tolerance=1e12)
        assert await deliveries(ledger) == [("delivered", 1, "200 told")] * 2


async def test_a_volunteered_label_wakes_nobody(ledger_url: str) -> None:
    async with opened(ledger_url) as ledger:
        (unit,) = await ledger.units([0])
        await ledger.label_service.call_back([unit], URL)
        await ledger.take(SubmittedLabel(unit, 5.0, source="volunteered"))
        assert await sending(ledger, Receiver()).round() == 0


async def test_failures_are_tried_again_later_and_later_with_the_same_id(ledger_url: str) -> None:
    receiver = Receiver(500, 0, 302, 200)
    async with opened(ledger_url) as ledger:
        (unit,) = await ledger.units([0])
        await ledger.take(SubmittedLabel(unit, 1.0))
        await ledger.label_service.call_back([unit], URL)
        webhooks = sending(ledger, receiver)
        assert await webhooks.round() == 1
        for wait in (1, 2, 4):
            ledger.wall.now += wait - 0.5
            assert await webhooks.round() == 0, "not before its time"
            ledger.wall.now += 1
            assert await webhooks.round() == 1
        assert await deliveries(ledger) == [("delivered", 4, "200 told")]
        assert len({headers["demur-delivery"] for _, _, headers in receiver.got}) == 1
        assert len({headers["demur-signature"] for _, _, headers in receiver.got}) == 4


async def test_some_answers_end_it_and_so_does_patience(ledger_url: str) -> None:
    async with opened(ledger_url) as ledger:
        units = await ledger.units([0, 1])
        await ledger.take(*(SubmittedLabel(unit, 1.0) for unit in units))
        await ledger.label_service.call_back(units[:1], URL)
        await sending(ledger, Receiver(410)).round()
        assert (await deliveries(ledger))[0][0] == "failed"
        await ledger.label_service.call_back(units[1:], URL)
        webhooks = sending(ledger, Receiver(*[503] * 100))
        rounds = 0
        while await webhooks.round():
            rounds += 1
            ledger.wall.now += 4000
        assert rounds == ATTEMPTS
        assert sorted(await deliveries(ledger)) == [("failed", 1, "410 told"), ("failed", ATTEMPTS, "503 told")]


async def test_a_kill_between_sending_and_noting_sends_again(ledger_url: str) -> None:
    """The receiver took it, and the process died before that was noted: it comes again, under the same id."""
    receiver = Receiver()
    async with opened(ledger_url) as ledger:
        (unit,) = await ledger.units([0])
        await ledger.take(SubmittedLabel(unit, 1.0))
        await ledger.label_service.call_back([unit], URL)
        webhooks = sending(ledger, receiver)

        webhooks._writer = Dying(ledger.writer)
        with pytest.raises(asyncio.CancelledError):
            await webhooks.round()
        assert len(receiver.got) == 1
    async with opened(ledger_url, wall=ledger.wall, epoch=8) as ledger:
        webhooks = sending(ledger, receiver)
        assert await webhooks.round() == 0, "somebody may be sending it"
        ledger.wall.now += 61
        assert await webhooks.round() == 1
        assert await deliveries(ledger) == [("delivered", 1, "200 told")]
        assert receiver.bodies[0] == receiver.bodies[1]


class Dying:
    """A writer whose process is gone after the first change."""

    def __init__(self, writer: Any) -> None:
        self._writer, self._changes = writer, 0

    async def read(self, query: Any) -> Any:
        return await self._writer.read(query)

    async def run(self, change: Any, *, seconds: float | None = None) -> Any:
        self._changes += 1
        if self._changes > 1:
            raise asyncio.CancelledError
        return await self._writer.run(change, seconds=seconds)


async def test_two_processes_deliver_once(postgres: Any) -> None:
    url, receiver = postgres.database(), Receiver()
    async with opened(url) as ledger, opened(url, epoch=7, wall=ledger.wall) as other:
        units = await ledger.units(range(20))
        await ledger.take(*(SubmittedLabel(unit, 1.0) for unit in units))
        await ledger.label_service.call_back(units, URL)
        webhooks = [sending(ledger, receiver), sending(other, receiver)] * 4
        while any(await asyncio.gather(*(each.round() for each in webhooks))):
            pass
        assert len(receiver.got) == len({body["id"] for body in receiver.bodies}) == 20


async def test_a_label_that_came_while_the_callback_was_noted_is_found(ledger_url: str) -> None:
    async with opened(ledger_url) as ledger:
        (unit,) = await ledger.units([0])
        await ledger.label_service.call_back([unit], URL)
        await ledger.take(SubmittedLabel(unit, 1.0))
        await ledger.writer.run(lambda c, p: c.execute(delivery.update().values(state="waiting")))
        assert await ledger.writer.run(lambda c, p: release_waiting(c, ledger.wall.now)) == 1
        assert await sending(ledger, Receiver()).round() == 1


async def test_what_was_erased_is_not_told(ledger_url: str) -> None:
    receiver = Receiver()
    async with opened(ledger_url) as ledger:
        (unit,) = await ledger.units([0])
        await ledger.label_service.call_back([unit], URL)
        await ledger.writer.run(lambda c, p: c.execute(delivery.update().values(state="pending")))
        await ledger.writer.run(lambda c, p: c.execute(item.update().values(erased=1.0)))
        assert await sending(ledger, receiver).round() == 1
        assert receiver.got == []
        assert await deliveries(ledger) == [("failed", 1, "erased before it was delivered")]


async def test_new_requests_are_told_blind_and_once(ledger_url: str) -> None:
    receiver = Receiver()
    async with opened(ledger_url) as ledger:
        units = await ledger.units(range(4))
        await ledger.units([9], state="labelled")
        webhooks = sending(ledger, receiver)
        periodic_jobs = PeriodicJobs(ledger.label_service, webhooks=webhooks, request_webhook=URL)
        for _ in range(2):
            await periodic_jobs.end_leases_and_notify()
            await webhooks.round()
        review_queue = (await ledger.label_service.reviews.queues()).queue
        assert sorted(body["request"] for body in receiver.bodies) == sorted(
            review_queue.list_ids.text(unit) for unit in units
        )
        assert {tuple(sorted(body)) for body in receiver.bodies} == {("head", "id", "kind", "request")}
        sent = b"".join(body for _, body, _ in receiver.got)
        assert f"{EPOCH:016x}".encode() not in sent


async def test_housekeeping_ends_what_is_over_and_survives_failures(ledger_url: str) -> None:
    async with opened(ledger_url, options=Options(second_phase=1.0)) as ledger:
        await ledger.units(range(3))
        periodic_jobs = PeriodicJobs(ledger.label_service)
        await ledger.label_service.reviews.claim(count=1, head="", actor="a", seconds=10)
        ledger.wall.now += 20
        await periodic_jobs.end_leases_and_notify()
        assert await ledger.states() == ["requested"] * 3
        ledger.wall.now += 40 * 86_400
        await periodic_jobs.expire_and_redraw()
        assert await ledger.states() == ["requested"] * 3, "expired, and all drawn again"
        words = [reason for *_, reason in await ledger.events()]
        assert words.count("nobody answered in time") == words.count("second phase: drawn") == 3
        periodic_jobs.start()
        await asyncio.sleep(0.05)
        await periodic_jobs.stop()


async def test_leases_are_looked_at_again_only_after_a_change_or_at_their_end(
    ledger_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(ledger_url) as ledger:
        await ledger.units(range(2))
        version, queries = 1, []
        read = ledger.label_service.ledger.read

        async def counted(query: Any) -> Any:
            queries.append(query)
            return await read(query)

        jobs = PeriodicJobs(ledger.label_service, version=lambda: version)
        await ledger.label_service.reviews.claim(count=1, head="", actor="a", seconds=10)
        await jobs.end_leases_and_notify()
        monkeypatch.setattr(ledger.label_service.ledger, "read", counted)
        await jobs.end_leases_and_notify()
        assert queries == [], "nothing has changed, and no lease is over"
        version = 2
        await jobs.end_leases_and_notify()
        assert len(queries) == 1
        ledger.wall.now += 20
        await jobs.end_leases_and_notify()
        assert await ledger.states() == ["requested"] * 2, "the lease ended without a change of the ledger"


ALLOWED = ("https://host.example/hooks", "http://10.0.0.1:8080")


@pytest.mark.parametrize(
    "url",
    [
        "https://host.example/hooks",
        "https://host.example/hooks/a?b=c",
        "https://HOST.example:443/hooks/",
        "http://10.0.0.1:8080/any",
    ],
)
def test_addresses_below_an_allowed_one_are_allowed(url: str) -> None:
    assert allowed(url, ALLOWED)


@pytest.mark.parametrize(
    "url",
    [
        "https://host.example",
        "https://host.example/hooksworth",
        "https://host.example.evil.org/hooks",
        "https://host.example@evil.org/hooks",
        "https://user@host.example/hooks",
        "https://host.example/hooks/../admin",
        "https://host.example/hooks/%2E%2e/admin",
        "https://host.example:444/hooks",
        "http://host.example/hooks",
        "https://host.example\\@evil.org/hooks",
        "https://host.example/hooks\n",
        "http://10.0.0.1/any",
        "http://10.0.0.1:8080x/",
        "ftp://10.0.0.1:8080/",
        "//10.0.0.1:8080/",
        "",
    ],
)
def test_other_addresses_are_not(url: str) -> None:
    assert not allowed(url, ALLOWED)


@given(st.text(max_size=30))
def test_any_text_is_an_address_or_none(text: str) -> None:
    assert isinstance(is_address(text), bool)
    assert isinstance(is_address("https://" + text), bool)


async def test_callbacks_have_to_be_allowed(ledger_url: str) -> None:
    async with opened(ledger_url) as ledger:
        (unit,) = await ledger.units([0])
        with pytest.raises(InvalidInput, match="must begin with one of") as caught:
            await ledger.label_service.call_back([unit], "http://192.168.0.1/")
        assert caught.value.code == "callback_not_allowed"
        assert await deliveries(ledger) == []
    async with opened(ledger_url, options=Options()) as ledger:
        with pytest.raises(InvalidInput, match="DEMUR_CALLBACKS"):
            await ledger.label_service.call_back([unit], URL)


def test_settings_of_addresses_are_checked(tmp_path: Path) -> None:
    good = {"DEMUR_CALLBACKS": "https://a.example/x, http://b.example", "DEMUR_WEBHOOK_SECRET": "s" * 16}
    assert Settings.read(good).callback_prefixes == ("https://a.example/x", "http://b.example")
    for change, words in (
        ({"DEMUR_CALLBACKS": "host"}, "an address such as https"),
        ({"DEMUR_REQUEST_WEBHOOK": "ftp://host"}, "an address such as https"),
        ({"DEMUR_WEBHOOK_SECRET": "short"}, "16 characters or more"),
        ({"DEMUR_SECOND_PHASE": "2"}, "0 to 1 is needed"),
        ({"DEMUR_REQUEST_DAYS": "0"}, "is needed"),
    ):
        with pytest.raises(SettingsError, match=words):
            Settings.read(good | change)


@contextmanager
def listening(code: int = 200) -> Iterator[tuple[str, list[tuple[str, bytes]]]]:
    """A receiver on a socket."""
    got: list[tuple[str, bytes]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            got.append((self.path, self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(code)
            self.send_header("location", "http://127.0.0.1:1/elsewhere")
            self.end_headers()

        def log_message(self, *_: Any) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", got
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_sending_over_a_socket() -> None:
    with listening() as (url, got):
        assert post(f"{url}/a/b?c=d", b"{}", {"x": "y"}) == (200, "200 OK")
        assert got == [("/a/b?c=d", b"{}")]
    with listening(302) as (url, got):
        assert post(url, b"{}", {})[0] == 302, "a redirect leads to what nobody allowed"
        assert len(got) == 1
    code, words = post("http://127.0.0.1:1/", b"{}", {})
    assert code == 0
    assert "refused" in words


async def test_the_background_work_delivers(tmp_path: Path) -> None:
    with listening() as (url, got):
        async with opened(f"sqlite:///{tmp_path / 'l.db'}", options=Options(callbacks=(url,))) as ledger:
            webhooks = Webhooks(
                ledger.writer, ledger.label_service.compose, SECRET, wall=ledger.wall, idle_seconds=0.02
            )
            webhooks.start()
            (unit,) = await ledger.units([0])
            await ledger.label_service.call_back([unit], f"{url}/hook")
            await ledger.take(SubmittedLabel(unit, 1.0))
            async with asyncio.timeout(40):
                while not got:
                    await asyncio.sleep(0.01)
            await webhooks.stop()
        assert json.loads(got[0][1])["value"] == 1.0
