"""From when to when a certificate is valid: the four steps into its DER that lead there (RFC 5280, 4.1)."""

from __future__ import annotations

import re
import ssl
from datetime import UTC, datetime
from typing import NamedTuple

_SEQUENCE, _INTEGER, _VERSION, _UTC_TIME, _GENERALIZED_TIME = 0x30, 0x02, 0xA0, 0x17, 0x18
_PEM = re.compile(rb"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)


class Validity(NamedTuple):
    """Seconds since 1970."""

    start: float
    end: float


def validity(chain: bytes) -> Validity:
    """Of the first certificate of a PEM chain.

    Raises:
        ValueError: it is none.
    """
    found = _PEM.search(chain)
    if found is None:
        raise ValueError("no certificate in PEM")
    try:
        _, certificate, _ = _element(ssl.PEM_cert_to_DER_cert(found[0].decode("ascii")))
        _, body, _ = _element(certificate)
        tag, _, rest = _element(body)
        if tag == _VERSION:
            tag, _, rest = _element(rest)
        if tag != _INTEGER:
            raise ValueError("no serial number")
        for _ in ("signature", "issuer"):
            tag, _, rest = _element(rest)
            if tag != _SEQUENCE:
                raise ValueError("no sequence")
        _, times, _ = _element(rest)
        tag, start, rest = _element(times)
        begin = _time(tag, start)
        tag, end, _ = _element(rest)
        return Validity(begin, _time(tag, end))
    except (IndexError, UnicodeDecodeError, ValueError) as error:
        raise ValueError(f"no certificate in PEM: {error}") from error


def _element(data: bytes) -> tuple[int, bytes, bytes]:
    """Tag and content of the first element, and what follows it."""
    tag, length, start = data[0], data[1], 2
    if length & 0x80:
        count = length & 0x7F
        if not 1 <= count <= 4:
            raise ValueError("a length of no certificate")
        start += count
        length = int.from_bytes(data[2:start])
    if start + length > len(data):
        raise ValueError("it is cut off")
    return tag, data[start : start + length], data[start + length :]


def _time(tag: int, content: bytes) -> float:
    text = content.decode("ascii")
    if tag == _UTC_TIME:  # two digits of the year: 1950 to 2049
        text = ("19" if text[:2] >= "50" else "20") + text
    elif tag != _GENERALIZED_TIME:
        raise ValueError("no time")
    return datetime.strptime(text, "%Y%m%d%H%M%SZ").replace(tzinfo=UTC).timestamp()
