"""Allow-list for callback addresses: deliveries go only below prefixes that the operator configured."""

from collections.abc import Sequence
from urllib.parse import SplitResult, urlsplit

from services.runtime.errors import InvalidInput

MOST_CHARACTERS = 2048


def allowed(url: str, prefixes: Sequence[str]) -> bool:
    """Return whether a URL starts with one of the prefixes: same scheme, host and port, and a path at or below.

    Compared by their parts, since ``https://inner`` is also a beginning of ``https://inner.example.org`` and of
    ``https://inner@example.org``.
    """
    address = _split(url)
    return address is not None and any(_below(address, prefix) for text in prefixes if (prefix := _split(text)))


def is_address(url: str) -> bool:
    """Return whether a text is a complete ``http`` or ``https`` address."""
    return _split(url) is not None


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
    same = (url.scheme, url.hostname, _port(url)) == (prefix.scheme, prefix.hostname, _port(prefix))
    path = prefix.path if prefix.path.endswith("/") else f"{prefix.path}/"
    return same and (url.path == prefix.path or f"{url.path}/".startswith(path))


def _port(parts: SplitResult) -> int:
    return parts.port or (443 if parts.scheme == "https" else 80)
