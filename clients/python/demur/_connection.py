"""Settings of a connection, from which it can be opened, also again in another process."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field, fields
from typing import Any

import grpc
import grpc.aio

from demur._address import check_target
from demur._channel import OPTIONS, Metadata, credentials, metadata
from demur._environment import way
from demur._retry import Retry


@dataclass(frozen=True, slots=True)
class Connection:
    """Settings that a client was opened with; None is read from the environment when the channel is opened.

    It can be pickled unless it holds a token or a private key: a pickle is written to disks and queues in clear text.
    Copies within a process keep them.

    Raises:
        WrongAddress: the target is a URL, or not an address.
    """

    target: str
    token: str | None = field(default=None, repr=False)
    tls: bool | bytes | None = None
    certificate: tuple[bytes, bytes] | None = field(default=None, repr=False)
    timeout: float | None = 30.0
    retry: Retry = field(default_factory=Retry)
    actor: str | None = None

    def __post_init__(self) -> None:
        check_target(self.target)

    def open(self) -> tuple[grpc.Channel, Metadata]:
        """Open a blocking channel; return it with the metadata of every call.

        Raises:
            ValueError: a token would travel in clear text, or a file that the environment names cannot be read.
        """
        secure, carried = self._credentials()
        if secure is None:
            return grpc.insecure_channel(self.target, OPTIONS), carried
        return grpc.secure_channel(self.target, secure, OPTIONS), carried

    def aopen(self) -> tuple[grpc.aio.Channel, Metadata]:
        """As :meth:`open`, with a channel of the running event loop."""
        secure, carried = self._credentials()
        if secure is None:
            return grpc.aio.insecure_channel(self.target, OPTIONS), carried
        return grpc.aio.secure_channel(self.target, secure, OPTIONS), carried

    def _credentials(self) -> tuple[grpc.ChannelCredentials | None, Metadata]:
        settings = way(self.token, self.tls, self.certificate)
        return credentials(self.target, settings), metadata(settings.token, self.actor)

    def __reduce__(self) -> tuple[Any, ...]:
        secret = "token" if self.token else "certificate" if self.certificate is not None else None
        if secret is not None:
            raise pickle.PicklingError(
                f"this client was opened with {secret}=..., which a pickle would hold in clear text; set it in the "
                "environment (DEMUR_TOKEN, DEMUR_TOKEN_FILE, DEMUR_CLIENT_CERTIFICATE and DEMUR_CLIENT_KEY), which is "
                "read again where the pickle is loaded"
            )
        return type(self), tuple(getattr(self, part.name) for part in fields(self))

    def __copy__(self) -> Connection:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Connection:
        return self


class Reconnecting:
    """Base class of objects that hold ``_calls``; a deep copy or pickle opens the same connection anew."""

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (vars(self)["_calls"],)
