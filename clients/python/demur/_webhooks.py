"""Checking that a delivery came from the service: for those who are called back."""

from __future__ import annotations

import hashlib
import hmac
import time

from demur._errors import InvalidInput

SIGNATURE_HEADER = "demur-signature"
DELIVERY_HEADER = "demur-delivery"


def verify_webhook(body: bytes, signature: str, secret: str | bytes, *, tolerance: float = 300.0) -> None:
    """Check the header ``demur-signature`` of a delivery against its body, before anything of it is believed.

    A delivery may come twice; the header ``demur-delivery`` names it.

    Args:
        body: as it came, byte for byte.
        secret: what the service has as DEMUR_WEBHOOK_SECRET.
        tolerance: how old or early a signature may be, seconds.

    Raises:
        InvalidInput: it is not signed with this secret, or not now.
    """
    parts = dict(part.partition("=")[::2] for part in signature.split(","))
    moment, given = parts.get("t", ""), parts.get("v1", "")
    key = secret.encode() if isinstance(secret, str) else secret
    expected = hmac.new(key, moment.encode() + b"." + body, hashlib.sha256).hexdigest()
    if not hmac.compare_digest(expected.encode(), given.encode()):
        raise InvalidInput("the delivery is not signed with this secret", code="bad_signature", field=SIGNATURE_HEADER)
    if not moment.isdecimal() or abs(time.time() - int(moment)) > tolerance:
        raise InvalidInput(
            f"the delivery was signed at {moment} s, more than {tolerance:g} s from now",
            code="bad_signature",
            field=SIGNATURE_HEADER,
        )
