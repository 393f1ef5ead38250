"""What a token may be for, and what a route may ask for."""

from __future__ import annotations

from typing import Literal, get_args

Scope = Literal["predict", "label", "review", "policy", "metrics"]
"""``predict``: ask, commit, and hear what became of one's units; ``label``: send labels; ``review``: work on the feed
of requests; ``policy``: change who is answered, erase units, read the trail; ``metrics``: figures of the service and
of the monitor."""
SCOPES: tuple[Scope, ...] = get_args(Scope)
Rule = Scope | Literal["open", "any"]
"""What a route asks for: a scope, ``any`` valid token, or nothing (``open``)."""
