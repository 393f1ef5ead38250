"""Clients of Demur services, and the functions that open them."""

from demur._async.calls import AsyncCalls
from demur._async.tasks import AsyncTasks
from demur._connection import Connection
from demur._labels.labels import Labels
from demur._labels.resolutions import Resolutions
from demur._retry import Retry
from demur._sync.calls import Calls
from demur._sync.tasks import Tasks


class Client(Tasks):
    """Blocking client of the services behind one address, for any number of threads.

    A client, its services and their methods can be pickled and deep-copied: the settings are copied, and a new
    connection is opened at the other end. Token, roots and certificate of the environment are read again there; a
    client that was given a token or certificate as an argument can be copied within the process but not pickled.
    """

    labels: Labels
    """Labels of units."""
    resolutions: Resolutions
    """Labels of deferred units, once they are there."""

    def __init__(self, calls: Calls) -> None:
        super().__init__(calls)
        self.labels = Labels(calls)
        self.resolutions = Resolutions(calls)


class AsyncClient(AsyncTasks):
    """Client of the services behind one address, on the running event loop; pickled as :class:`Client` is."""


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
    """Return a client of the services at a gRPC target such as ``127.0.0.1:4005`` or ``dns:///vessel:4005``.

    The first call connects. Calls are balanced over the addresses of a name, round robin.

    Args:
        target: address of the service.
        token: sent with every call as a bearer token; beyond this machine only over an encrypted connection. None:
            that of ``DEMUR_TOKEN``, or of the file ``DEMUR_TOKEN_FILE``; empty: none.
        tls: True for TLS with the system's roots, PEM bytes for roots of your own; None: the roots of the file
            ``DEMUR_ROOTS``, without it plain text; False: plain text (also with a token, where something else
            encrypts the connection).
        certificate: the client's own certificate chain and its key, PEM, where the service requires one (mTLS);
            None: those of the files ``DEMUR_CLIENT_CERTIFICATE`` and ``DEMUR_CLIENT_KEY``.
        timeout: default timeout of a call, s; None for no limit.
        retry: policy of retries while the service is unavailable; by default ``Retry()``.
        actor: name under which the ledger records labels and commits; None: anonymous. With a token, its name counts
            instead.

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
    """Return an asynchronous client, for ``async with`` on the running event loop; arguments as for :func:`connect`."""
    return AsyncClient(AsyncCalls(Connection(target, token, tls, certificate, timeout, retry or Retry(), actor)))
