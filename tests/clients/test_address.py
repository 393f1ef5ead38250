"""Addresses at which something else answers than what was called."""

import threading
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import grpc
import numpy as np
import pytest

import demur
from demur._address import DEFAULT_PORTS, check_target, wrong_service
from demur._errors import WROTE_TOO_LATE
from services.runtime.registry import default_ports
from services.runtime.settings import TASKS

ROW = np.ones((1, 10), np.float32)
ONCE = demur.Retry(attempts=1)


def test_default_ports_are_those_of_the_services() -> None:
    assert {task: default_ports(task)[1] for task in TASKS} == DEFAULT_PORTS
    assert {grpc - http for http, grpc in map(default_ports, TASKS)} == {1000}


@pytest.mark.parametrize(
    ("target", "code", "meant"),
    [
        ("http://127.0.0.1:3005", "url", "such as '127.0.0.1:4005': by default the gRPC port"),
        ("http://127.0.0.1:13005/v1/predict", "url", "such as '127.0.0.1:14005': by default"),
        ("http://vessel.example:4005", "url", "such as 'vessel.example:4005'"),
        ("https://vessel.example", "url", "such as 'vessel.example:4005', and tls=True"),
        ("grpc://127.0.0.1:4005", "url", "such as '127.0.0.1:4005'"),
        ("grpcs://[::1]:4005", "url", r"such as '\[::1\]:4005', and tls=True"),
        ("http://host:99999", "url", "such as '127.0.0.1:4005'"),
        ("127.0.0.1:4005/", "bad_address", "as '127.0.0.1:4005'"),
        ("", "bad_address", "as '127.0.0.1:4005'"),
    ],
)
def test_urls_are_refused_at_once(target: str, code: str, meant: str) -> None:
    for connect in (demur.connect, demur.aconnect):
        with pytest.raises(demur.WrongAddress, match=meant) as raised:
            connect(target)
        assert (raised.value.code, raised.value.target) == (code, target)
        assert isinstance(raised.value, ValueError)


@pytest.mark.parametrize(
    "target",
    ["127.0.0.1:4005", "vessel", "[::1]:4005", "dns:///vessel:4005", "dns:vessel:4005", "unix:///run/a", "unix:a/b",
     "ipv4:127.0.0.1:4005,127.0.0.1:4006", "xds:///vessel"],
)  # fmt: skip
def test_addresses_of_grpc_pass(target: str) -> None:
    check_target(target)


@pytest.fixture
def http_port() -> Iterator[int]:
    class Quiet(BaseHTTPRequestHandler):
        def log_message(self, *words: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Quiet)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    yield server.server_port
    server.shutdown()
    thread.join()
    server.server_close()


async def test_an_http_port_is_told(http_port: int) -> None:
    target = f"127.0.0.1:{http_port}"
    with demur.connect(target) as client:
        for call in (lambda: client.vessel.predict(ROW), lambda: list(client.vessel.stream([ROW])), client.ready):
            with pytest.raises(demur.WrongAddress, match=f"{target} is an HTTP port; give the gRPC port") as raised:
                call()
            assert raised.value.code == "http_port"
    async with demur.aconnect(target) as client:
        for pending in (client.vessel.predict(ROW), client.ready()):
            with pytest.raises(demur.WrongAddress, match="is an HTTP port"):
                await pending


@pytest.fixture
def other_server() -> Iterator[str]:
    """A gRPC server of somebody else, without reflection."""
    server = grpc.server(ThreadPoolExecutor(2), options=[("grpc.so_reuseport", 0)])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield f"127.0.0.1:{port}"
    server.stop(0).wait()


@pytest.fixture
async def asynchronous(other_server: str) -> AsyncIterator[demur.AsyncClient]:
    async with demur.aconnect(other_server, retry=ONCE) as client:
        yield client


async def test_a_server_of_somebody_else_is_told(other_server: str, asynchronous: demur.AsyncClient) -> None:
    words = f"the service at {other_server} has no service of vessel; give the gRPC port of vessel, by default 4005"
    with demur.connect(other_server) as client, pytest.raises(demur.WrongAddress, match=words) as raised:
        client.vessel.predict(ROW)
    assert (raised.value.code, raised.value.target) == ("wrong_service", other_server)
    with pytest.raises(demur.WrongAddress, match=words):
        await asynchronous.vessel.describe()
    with demur.connect(other_server) as client, pytest.raises(demur.WrongAddress, match="has no service of lesion"):
        client.lesion.predict(b"no scan")


class LostStatus(grpc.RpcError):
    """Failure of a stream whose first frame was written while its status was under way."""

    def code(self) -> grpc.StatusCode:
        return grpc.StatusCode.INTERNAL

    def details(self) -> str:
        return WROTE_TOO_LATE

    def trailing_metadata(self) -> tuple[()]:
        return ()


def test_a_lost_status_says_nothing_about_an_address_that_lists_no_services() -> None:
    assert isinstance(wrong_service("ship:4005", "vessel", b"", LostStatus()), demur.Unavailable)
    other = b"demur.v1.WeatherService"
    assert isinstance(wrong_service("ship:4005", "vessel", other, LostStatus()), demur.WrongAddress)
