"""Clients of Demur services, and how they are opened."""

from __future__ import annotations

from types import TracebackType

from demur._calls import AsyncCalls, Calls
from demur._connection import Connection, Reconnecting
from demur._labels import Labels
from demur._lesion import AsyncBrainScans, BrainScans
from demur._motion import AsyncMotion, Motion
from demur._policies import AsyncPolicies, Policies
from demur._requests import Requests
from demur._resolutions import Resolutions
from demur._retry import Retry
from demur._translation import AsyncTranslator, Translator
from demur._vessel import AsyncVessel, Vessel
from demur._weather import AsyncWeather, Weather


class Client(Reconnecting):
    """A connection to the services behind one address, blocking; for any number of threads.

    A client, its services and their methods can be pickled and deep-copied: the settings travel, and a connection of
    its own is opened at the other end. Token, roots and certificate of the environment are read again there; a client
    that was given a token or certificate as an argument can be copied within the process but not pickled.
    """

    vessel: Vessel
    """Shaft power of a cargo ship."""
    weather: Weather
    """Air temperature and precipitation class."""
    lesion: BrainScans
    """Multiple sclerosis lesions in brain scans."""
    motion: Motion
    """Where vehicles will be in the next seconds."""
    translation: Translator
    """English to Russian."""
    labels: Labels
    """What units turned out to be."""
    requests: Requests
    """The feed of requests for labels."""
    resolutions: Resolutions
    """What became of deferred units."""
    policies: Policies
    """Who is answered, and changing it."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self.vessel = Vessel(calls)
        self.weather = Weather(calls)
        self.lesion = BrainScans(calls)
        self.motion = Motion(calls)
        self.translation = Translator(calls)
        self.labels = Labels(calls)
        self.requests = Requests(calls)
        self.resolutions = Resolutions(calls)
        self.policies = Policies(calls)

    def ready(self, timeout: float = 30.0) -> bool:
        """Wait until the service says that it is serving; False if it has not within this many seconds.

        Raises:
            WrongAddress: it is an HTTP port.
            DemurError: it answered, but not about its health.
        """
        return self._calls.ready(timeout)

    def close(self) -> None:
        """Close the connection, cancelling calls that are not finished."""
        self._calls.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncClient(Reconnecting):
    """A connection to the services behind one address, on the running event loop; pickled as :class:`Client` is."""

    vessel: AsyncVessel
    """Shaft power of a cargo ship."""
    weather: AsyncWeather
    """Air temperature and precipitation class."""
    lesion: AsyncBrainScans
    """Multiple sclerosis lesions in brain scans."""
    motion: AsyncMotion
    """Where vehicles will be in the next seconds."""
    translation: AsyncTranslator
    """English to Russian."""
    policies: AsyncPolicies
    """Who is answered, and changing it."""

    def __init__(self, calls: AsyncCalls) -> None:
        self._calls = calls
        self.vessel = AsyncVessel(calls)
        self.weather = AsyncWeather(calls)
        self.lesion = AsyncBrainScans(calls)
        self.motion = AsyncMotion(calls)
        self.translation = AsyncTranslator(calls)
        self.policies = AsyncPolicies(calls)

    async def ready(self, timeout: float = 30.0) -> bool:
        """As :meth:`Client.ready`."""
        return await self._calls.ready(timeout)

    async def close(self) -> None:
        """Close the connection, cancelling calls that are not finished."""
        await self._calls.close()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


def connect(
    target: str,
    *,
    token: str | None = None,
    tls: bool | bytes | None = None,
    certificate: tuple[bytes, bytes] | None = None,
    timeout: float | None = 30.0,
    retry: Retry | None = None,
    actor: str | None = None,
) -> Client:
    """A client of the services at a gRPC target such as ``127.0.0.1:4005`` or ``dns:///vessel:4005``.

    Nothing is sent yet; the first call connects. Calls take turns among the addresses of a name.

    Args:
        target: address of the service.
        token: sent with every call as a bearer token; beyond this machine only over an encrypted way. None: that of
            ``DEMUR_TOKEN``, or of the file ``DEMUR_TOKEN_FILE``; empty: none.
        tls: True for TLS with the system's roots, PEM bytes for roots of your own; None: the roots of the file
            ``DEMUR_ROOTS``, without it plain text; False: plain text (also where a token goes along, because
            something else encrypts the way).
        certificate: the client's own certificate chain and its key, PEM, where the service asks for one (mTLS);
            None: those of the files ``DEMUR_CLIENT_CERTIFICATE`` and ``DEMUR_CLIENT_KEY``.
        timeout: seconds for a call that names none of its own; None for no limit.
        retry: how patiently to ask again while the service is unavailable; by default ``Retry()``.
        actor: who labels and commits, for the ledger; None: anonymous. With a token, its name counts instead.

    Raises:
        WrongAddress: the target is a URL.
        ValueError: a token would travel in clear text, or a file that the environment names cannot be read.
    """
    return Client(Calls(Connection(target, token, tls, certificate, timeout, retry or Retry(), actor)))


def aconnect(
    target: str,
    *,
    token: str | None = None,
    tls: bool | bytes | None = None,
    certificate: tuple[bytes, bytes] | None = None,
    timeout: float | None = 30.0,
    retry: Retry | None = None,
    actor: str | None = None,
) -> AsyncClient:
    """As :func:`connect`, for ``async with`` on the running event loop."""
    return AsyncClient(AsyncCalls(Connection(target, token, tls, certificate, timeout, retry or Retry(), actor)))
