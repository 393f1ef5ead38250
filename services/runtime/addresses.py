"""Addresses: their text, and the allow-list of callbacks, which go only below prefixes that the operator configured."""

from collections.abc import Iterable, Sequence
from urllib.parse import SplitResult, urlsplit

from services.runtime.errors import InvalidInput
from services.runtime.variables import SettingsError

MOST_CHARACTERS = 2048
SECRET_CHARACTERS = 16
"""A shorter secret of notices could be found by trying."""


def address(host: str, port: int) -> str:
    """Return ``host:port`` for URLs and gRPC targets, with an IPv6 address in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def allowed(url: str, prefixes: Sequence[str]) -> bool:
    """Return whether a URL starts with one of the prefixes: same scheme, host and port, and a path at or below.

    Compared by their parts, since ``https://inner`` is also a beginning of ``https://inner.example.org`` and of
    ``https://inner@example.org``.
    """
    called = _split(url)
    return called is not None and any(_below(called, prefix) for text in prefixes if (prefix := _split(text)))


def is_address(url: str) -> bool:
    """Return whether a text is a complete ``http`` or ``https`` address."""
    return _split(url) is not None


def same_origin(one: str, other: str) -> bool:
    """Return whether two complete addresses have the same scheme, host and port; False if one is not an address."""
    first, second = _split(one), _split(other)
    return first is not None and second is not None and _origin(first) == _origin(second)


def check_addresses(name: str, addresses: Iterable[str]) -> None:
    """Check the setting ``DEMUR_<name>`` of addresses.

    Raises:
        SettingsError: one is not an address.
    """
    for url in addresses:
        if not is_address(url):
            raise SettingsError(f"DEMUR_{name} = {url!r}: an address such as https://host/path is needed")


def check_notices(name: str, addresses: Sequence[str], secret: str) -> None:
    """Check the setting ``DEMUR_<name>`` of addresses to which signed notices are sent.

    Raises:
        SettingsError: one is not an address, or there is no secret to sign with.
    """
    check_addresses(name, addresses)
    if addresses and len(secret) < SECRET_CHARACTERS:
        raise SettingsError(
            f"DEMUR_{name} needs DEMUR_WEBHOOK_SECRET, which signs what is sent: {SECRET_CHARACTERS} characters or more"
        )


def checked(url: str, prefixes: Sequence[str]) -> str:
    """Return the URL if callbacks to it are allowed.

    Raises:
        InvalidInput: callbacks are off, or this address is not allowed.
    """
    if not prefixes:
        raise InvalidInput(
            "this service sends no callbacks; set DEMUR_CALLBACKS to the beginnings of allowed addresses",
            code="callbacks_off",
            field="url",
        )
    if len(url) > MOST_CHARACTERS or not allowed(url, prefixes):
        listed = ", ".join(prefixes)
        raise InvalidInput.about(
            "url", url[:100], f"must begin with one of {listed}", code="callback_not_allowed", allowed=listed
        )
    return url


def _split(url: str) -> SplitResult | None:
    """Return the parts of a plain address; None if it is not one, or could be read in two ways."""
    if any(ord(character) <= 0x20 or ord(character) >= 0x7F or character == "\\" for character in url):
        return None
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    plain = parts.scheme in ("http", "https") and parts.hostname and port != 0
    if not plain or "@" in parts.netloc or parts.fragment or ".." in parts.path or "%2e" in parts.path.lower():
        return None
    return parts


def _below(url: SplitResult, prefix: SplitResult) -> bool:
    path = prefix.path if prefix.path.endswith("/") else f"{prefix.path}/"
    return _origin(url) == _origin(prefix) and (url.path == prefix.path or f"{url.path}/".startswith(path))


def _origin(parts: SplitResult) -> tuple[str, str | None, int]:
    return parts.scheme, parts.hostname, _port(parts)


def _port(parts: SplitResult) -> int:
    return parts.port or (443 if parts.scheme == "https" else 80)
