"""Contract of a gRPC server: what callers and operators of Demur rely on, one check each, asked by stock grpcio.

A check starts the echo service with the options that it needs, or shares a server with others that need none. It
passes, or raises ``Broken`` with what the server does instead.
"""

import json
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import grpc
import psutil
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from benchmarks.race.environments import LeftOut
from benchmarks.service import HOST
from benchmarks.transports.servers import echo
from tests.services.access.authority import Authority

PASSED = "passed"
_CALL_SECONDS = 5.0
_DEADLINE = ("grpc-timeout", "300m")
"""Deadline that only the server keeps: as metadata, the caller's library sends it but does not end the call by it."""
_MOST_BYTES, _MOST_STREAMS, _MOST_AGE_SECONDS = 64 << 10, 4, 1.0


class Broken(Exception):
    """A server does not keep a part of the contract; the message says what it does instead."""


@dataclass(frozen=True)
class Options:
    """Options of a server; None: its own default."""

    most_message_bytes: int | None = None
    most_streams: int | None = None
    most_age_seconds: float | None = None
    certificate: Path | None = None
    key: Path | None = None

    def arguments(self) -> list[str]:
        """Return the options as arguments of the servers' commands."""
        given = {name: value for name, value in vars(self).items() if value is not None}
        return [part for name, value in given.items() for part in (f"--{name.replace('_', '-')}", str(value))]


@dataclass(frozen=True)
class Target:
    """Running server."""

    port: int
    process: psutil.Process

    def channel(self) -> grpc.Channel:
        """Return a new connection."""
        return grpc.insecure_channel(f"{HOST}:{self.port}", options=(("grpc.use_local_subchannel_pool", 1),))

    def secure(self, authority: Authority) -> grpc.Channel:
        """Return a new connection over TLS that trusts one authority."""
        credentials = grpc.ssl_channel_credentials(authority.pem)
        return grpc.secure_channel(f"{HOST}:{self.port}", credentials, options=(("grpc.use_local_subchannel_pool", 1),))


Start = Callable[[Options], AbstractContextManager[Target]]
"""Starts a server; raises ``LeftOut`` if it does not start with these options."""


def unary(channel: grpc.Channel, method: str, request: bytes = b"", **wishes: Any) -> bytes:
    """Return the answer of a method of the service."""
    wishes = {"timeout": _CALL_SECONDS} | wishes
    answer: bytes = channel.unary_unary(f"/{echo.SERVICE}/{method}")(request, **wishes)
    return answer


def state(channel: grpc.Channel) -> dict[str, int]:
    """Return the counts of ``Wait``."""
    counts: dict[str, int] = json.loads(unary(channel, "State"))
    return counts


def until(condition: Callable[[], bool], seconds: float, broken: str) -> None:
    """Wait for a condition.

    Raises:
        Broken: it is not met in time.
    """
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise Broken(broken)
        time.sleep(0.02)


def refusal(call: Callable[[], object]) -> grpc.RpcError:
    """Return the error of a call that has to fail."""
    try:
        answer = call()
    except grpc.RpcError as error:
        return error
    raise Broken(f"answers {str(answer)[:40]!r} instead of an error")


def expect(name: str, value: object, wanted: object) -> None:
    """Raise ``Broken`` unless a value is the wanted one."""
    if value != wanted:
        raise Broken(f"{name} is {str(value)[:80]}, not {str(wanted)[:80]}")


# Checks of a server with its own defaults


def check_unary(target: Target) -> None:
    with target.channel() as channel:
        for request in (b"", b"one", bytes(300_000)):
            expect("answer", unary(channel, "Echo", request), request)


def check_server_stream(target: Target) -> None:
    with target.channel() as channel:
        answers = channel.unary_stream(f"/{echo.SERVICE}/Repeat")(b"many", timeout=_CALL_SECONDS)
        expect("answers", list(answers), [b"many"] * echo.COPIES)


def check_bidirectional_stream(target: Target) -> None:
    """The answer to a message has to come before the next message is sent."""
    with target.channel() as channel:
        messages = [b"0", b"1", b"2"]
        heard: list[bytes] = []

        def requests() -> Iterator[bytes]:
            for message in messages:
                yield message
                until(partial(answered, message), 2.0, "does not answer before the caller has sent everything")

        def answered(message: bytes) -> bool:
            return message in heard

        for answer in channel.stream_stream(f"/{echo.SERVICE}/Talk")(requests(), timeout=_CALL_SECONDS):
            heard.append(answer)
        expect("answers", heard, messages)


def check_metadata(target: Target) -> None:
    sent = {echo.TEXT: "plain text", echo.BYTES: b"\x00\xff"}
    with target.channel() as channel:
        call = channel.unary_unary(f"/{echo.SERVICE}/Echo")
        _, ended = call.with_call(b"", metadata=tuple(sent.items()), timeout=_CALL_SECONDS)
        for name, came in (("initial", ended.initial_metadata()), ("trailing", ended.trailing_metadata())):
            expect(f"{name} metadata", {key: value for key, value in came if key in sent}, sent)


def check_status_details(target: Target) -> None:
    with target.channel() as channel:
        error: Any = refusal(lambda: unary(channel, "Fail"))
        expect("code", error.code().name, echo.CODE)
        expect("message", error.details(), echo.MESSAGE)
        key, value = echo.DETAIL
        expect("trailing detail", dict(error.trailing_metadata()).get(key), value)


def check_deadline(target: Target) -> None:
    with target.channel() as channel:
        before = state(channel)["cancelled"]
        error: Any = refusal(lambda: unary(channel, "Wait", b"2", metadata=(_DEADLINE,), timeout=None))
        expect("code", error.code().name, "DEADLINE_EXCEEDED")
        until(lambda: state(channel)["cancelled"] > before, 1.0, "the handler goes on after the deadline")


def check_cancellation(target: Target) -> None:
    with target.channel() as channel:
        before = state(channel)["cancelled"]
        call = channel.unary_unary(f"/{echo.SERVICE}/Wait").future(b"3", timeout=_CALL_SECONDS)
        until(lambda: state(channel)["active"] > 0, 2.0, "the handler does not begin")
        call.cancel()
        until(lambda: state(channel)["cancelled"] > before, 2.0, "the handler goes on after the caller has left")


def check_gzip(target: Target) -> None:
    with target.channel() as channel:
        request = b"row " * 10_000
        expect("answer", unary(channel, "Echo", request, compression=grpc.Compression.Gzip), request)


def check_health(target: Target) -> None:
    with target.channel() as channel:
        answer = health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(), timeout=_CALL_SECONDS)
        expect("health", answer.status, health_pb2.HealthCheckResponse.SERVING)


def check_reflection(target: Target) -> None:
    request = reflection_pb2.ServerReflectionRequest(list_services="")
    with target.channel() as channel:
        stub = reflection_pb2_grpc.ServerReflectionStub(channel)
        (answer,) = stub.ServerReflectionInfo(iter([request]), timeout=_CALL_SECONDS)
        names = {service.name for service in answer.list_services_response.service}
        if echo.SERVICE not in names:
            raise Broken(f"lists {sorted(names)}, without {echo.SERVICE}")


# Checks of servers with options


def check_message_size(target: Target) -> None:
    with target.channel() as channel:
        unary(channel, "Echo", bytes(_MOST_BYTES // 2))
        error: Any = refusal(lambda: unary(channel, "Echo", bytes(2 * _MOST_BYTES)))
        expect("code", error.code().name, "RESOURCE_EXHAUSTED")
        unary(channel, "Echo", b"still there")


def check_streams(target: Target) -> None:
    with target.channel() as channel:
        unary(channel, "Echo")  # now the caller knows the limit
        wait = channel.unary_unary(f"/{echo.SERVICE}/Wait")
        for call in [wait.future(b"0.2", timeout=_CALL_SECONDS) for _ in range(3 * _MOST_STREAMS)]:
            call.result()
        peak = state(channel)["peak"]
        if peak > _MOST_STREAMS:
            raise Broken(f"{peak} calls of one connection ran at once, with a limit of {_MOST_STREAMS}")


def check_age(target: Target) -> None:
    """A channel whose connection becomes too old goes on over another one, without a failed call."""
    peers = set()
    with target.channel() as channel:
        end = time.monotonic() + 4 * _MOST_AGE_SECONDS
        while time.monotonic() < end:
            peers.add(unary(channel, "Peer"))
            time.sleep(0.02)
    if len(peers) < 2:
        raise Broken("keeps a connection beyond its age")


def check_drain(target: Target) -> None:
    """After SIGTERM a call in flight is answered, new ones are refused, and then the process ends."""
    with target.channel() as channel, target.channel() as late:
        unary(late, "Echo")
        call = channel.unary_unary(f"/{echo.SERVICE}/Wait").future(b"1.5", timeout=_CALL_SECONDS)
        until(lambda: state(channel)["active"] > 0, 2.0, "the handler does not begin")
        target.process.send_signal(signal.SIGTERM)
        time.sleep(0.3)
        refusal(lambda: unary(late, "Echo", timeout=0.5))
        try:
            call.result()
        except grpc.RpcError as error:
            ended: Any = error
            raise Broken(f"a call in flight ends with {ended.code().name} at SIGTERM") from error
    until(
        lambda: target.process.status() == psutil.STATUS_ZOMBIE,  # its starter reads the exit status
        _CALL_SECONDS,
        f"runs on {_CALL_SECONDS:g} s after SIGTERM",
    )


@dataclass(frozen=True)
class Secured:
    """Server with a certificate of the first of two authorities, and the folder in which it lies."""

    target: Target
    folder: Path
    first: Authority
    second: Authority


def check_tls(secured: Secured) -> None:
    with secured.target.secure(secured.first) as channel:
        expect("answer", unary(channel, "Echo", b"secret"), b"secret")
    with secured.target.channel() as channel:
        refusal(lambda: unary(channel, "Echo", timeout=1.0))


def check_reload(secured: Secured) -> None:
    """New connections get the certificate that is in the files now, without a restart."""
    with secured.target.secure(secured.first) as channel:
        unary(channel, "Echo")
        time.sleep(0.5)
        secured.second.server().put(secured.folder, "server")

        def reloaded() -> bool:
            time.sleep(0.2)
            with secured.target.secure(secured.second) as another:
                try:
                    return unary(another, "Echo", b"new", timeout=1.0) == b"new"
                except grpc.RpcError:
                    return False

        until(reloaded, 4.0, "goes on with the certificate that it was started with")
        unary(channel, "Echo")


PLAIN: Mapping[str, Callable[[Target], None]] = {
    "unary calls": check_unary,
    "server streams": check_server_stream,
    "bidirectional streams": check_bidirectional_stream,
    "initial and trailing metadata": check_metadata,
    "status, message and trailing details": check_status_details,
    "deadlines enforced by the server": check_deadline,
    "cancellation seen by the handler": check_cancellation,
    "gzip": check_gzip,
    "health": check_health,
    "reflection": check_reflection,
}
LIMITED: Mapping[str, tuple[Options, Callable[[Target], None]]] = {
    "maximum message size": (Options(most_message_bytes=_MOST_BYTES), check_message_size),
    "maximum concurrent streams": (Options(most_streams=_MOST_STREAMS), check_streams),
    "maximum connection age": (Options(most_age_seconds=_MOST_AGE_SECONDS), check_age),
    "graceful drain": (Options(), check_drain),
}
SECURED: Mapping[str, Callable[[Secured], None]] = {
    "TLS": check_tls,
    "reload of certificates": check_reload,
}
NAMES: Sequence[str] = (*PLAIN, *LIMITED, *SECURED)


def contract(start: Start) -> dict[str, str]:
    """Return the outcome of each check: ``PASSED``, or what the server does instead."""
    outcomes: dict[str, str] = {}
    with _outcomes(outcomes, PLAIN), start(Options()) as target:
        outcomes |= {name: _outcome(check, target) for name, check in PLAIN.items()}
    for name, (options, check) in LIMITED.items():
        with _outcomes(outcomes, [name]), start(options) as target:
            outcomes[name] = _outcome(check, target)
    with TemporaryDirectory(prefix="transports-") as place, _outcomes(outcomes, SECURED):
        first, folder = Authority("first"), Path(place)
        certificate, key = first.server().put(folder, "server")
        with start(Options(certificate=certificate, key=key)) as target:
            secured = Secured(target, folder, first, Authority("second"))
            outcomes |= {name: _outcome(test, secured) for name, test in SECURED.items()}
    return outcomes


@contextmanager
def _outcomes(outcomes: dict[str, str], names: Sequence[str] | Mapping[str, object]) -> Iterator[None]:
    """Give all of these checks the reason why their server cannot be started, if it cannot."""
    try:
        yield
    except LeftOut as error:
        outcomes |= dict.fromkeys(names, str(error))


def _outcome(check: Callable[[Any], None], target: Any) -> str:
    try:
        check(target)
    except Broken as broken:
        return str(broken)
    except grpc.RpcError as error:
        ended: Any = error
        return f"{ended.code().name}: {(ended.details() or 'no message')[:120]}"
    except Exception as error:  # an answer of another form
        return f"{type(error).__name__}: {str(error)[:120]}"
    return PASSED
