"""Descriptions of the services of an installation: heads, columns, and numbers of waiting requests."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

import msgspec

from services.review.identity import Reviewer
from services.review.services import Services
from services.runtime.errors import DemurError
from services.runtime.registry import entry
from services.runtime.row_models import place

ASK_SECONDS = 2.0
"""Longest time that a service may take to describe itself."""
KEPT_SECONDS = 1.0
"""Time for which descriptions are kept."""
_MOST_KEPT = 1000


class Installation:
    """Descriptions of all services, fetched side by side."""

    def __init__(self, services: Services, monotonic: Callable[[], float] = time.monotonic) -> None:
        """Initialise; ``monotonic`` returns seconds."""
        self._services, self._monotonic = services, monotonic
        self._kept: dict[tuple[str, Reviewer], tuple[float, dict[str, Any]]] = {}

    async def tasks(self, who: Reviewer) -> list[dict[str, Any]]:
        """Return the description of each service as this reviewer may see it, by name."""
        names = sorted(self._services.addresses())
        return list(await asyncio.gather(*(self._task(name, who) for name in names)))

    async def _task(self, name: str, who: Reviewer) -> dict[str, Any]:
        kept = self._kept.get((name, who))
        now = self._monotonic()
        if kept is not None and now - kept[0] < KEPT_SECONDS:
            return kept[1]
        described = await self._described(name, who)
        if len(self._kept) >= _MOST_KEPT:
            self._kept.clear()
        self._kept[name, who] = now, described
        return described

    async def _described(self, name: str, who: Reviewer) -> dict[str, Any]:
        described: dict[str, Any] = {
            "name": name,
            "ready": False,
            "reason": "",
            "heads": [],
            "schema": None,
            "trained_lower": [],
            "trained_upper": [],
            "counts": {},
            "keeps_inputs": False,
            "drafts": False,
            "adjudications": 0,
            "setting": f"DEMUR_{place(name)}_KEEP_PAYLOAD=on",
            "view": entry(name).review_view,
        }
        try:
            schema, counts = await asyncio.gather(
                self._json(name, who, "/v1/schema"), self._json(name, who, "/v1/requests")
            )
        except _Unusable as refused:
            return described | {"reason": str(refused)}
        except DemurError as error:
            return described | {"reason": error.message}
        own = {field: counts[field] for field in ("keeps_inputs", "drafts", "adjudications")}
        trained = {field: schema.get(field, []) for field in ("trained_lower", "trained_upper")}
        features = schema.get("features") or None
        return (
            described
            | own
            | trained
            | {
                "ready": True,
                "heads": schema["heads"],
                "schema": features,
                "counts": counts["heads"],
            }
        )

    async def _json(self, name: str, who: Reviewer, path: str) -> Any:
        answer = await self._services.call(name, who, "GET", path, seconds=ASK_SECONDS)
        try:
            document = msgspec.json.decode(answer.content)
            if answer.status != 200:
                raise _Unusable(str(document["error"]["message"]))
        except (msgspec.DecodeError, KeyError, TypeError) as error:
            raise _Unusable(f"{name} answered {answer.status} without a reason") from error
        return document


class _Unusable(Exception):
    """A service refuses, or answers in another form; the text is for the reviewer."""
