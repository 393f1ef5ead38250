"""The signature of what is delivered: who has the secret can tell that it came from here, and when."""

from __future__ import annotations

import hashlib
import hmac

HEADER = "demur-signature"


def sign(secret: bytes, body: bytes, time: float) -> str:
    """Value of the header: ``t=SECONDS,v1=HEX``, HMAC-SHA256 over ``SECONDS.BODY``; the time is part of what is signed,
    so that an old delivery cannot be sent again as a new one."""
    moment = f"{int(time)}"
    digest = hmac.new(secret, moment.encode() + b"." + body, hashlib.sha256).hexdigest()
    return f"t={moment},v1={digest}"
