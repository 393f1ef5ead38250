"""Resolutions as callers see them: canonical labels decoded to values."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from models.head import Head
from models.label_errors import LabelRule
from services.labels.label_types import ContentStore, to_json
from services.labels.label_validation import Source
from services.labels.resolution import Resolution, Status
from services.ledger.unit_ids import Unit, unit_text


@dataclass(frozen=True, slots=True)
class ResolutionView:
    """Resolution of a unit, for callers; the fields after ``head`` are those of its label, where it has one."""

    unit: Unit
    status: Status
    state: str
    head: str
    value: object = None
    """Decoded value: number, text, positions, bytes of a file; see ``models.label_errors``."""
    label: str = ""
    """Meaning of the label, with its unit."""
    source: Source | None = None
    version: int = 0
    observed: float | None = None
    received: float = 0.0
    """Seconds since 1970."""

    def json(self) -> dict[str, Any]:
        """Return the view as a JSON object."""
        fields: dict[str, Any] = {"unit": unit_text(self.unit), "status": self.status}
        fields |= {name: word for name, word in (("head", self.head), ("state", self.state)) if word}
        if self.source is None:
            return fields
        return fields | {
            "value": to_json(self.value),
            "label": self.label,
            "source": self.source,
            "version": self.version,
            "observed": self.observed,
            "received": self.received,
        }


@dataclass(frozen=True)
class ResolutionPresenter:
    """Decoder of resolutions for callers."""

    heads: Mapping[str, Head]
    judgings: Mapping[str, LabelRule]
    store: ContentStore

    async def view(self, resolution: Resolution) -> ResolutionView:
        """Return a resolution for callers."""
        view = ResolutionView(resolution.unit, resolution.status, resolution.state, resolution.head)
        if resolution.status != "resolved":
            return view
        value = resolution.value
        if value is None and resolution.value_ref is not None:
            value = await asyncio.to_thread(self.store.get, resolution.value_ref)
        assert value is not None
        return replace(
            view,
            value=self.judgings[resolution.head].value(value),
            label=self.heads[resolution.head].label,
            source=resolution.source,
            version=resolution.version,
            observed=resolution.observed,
            received=resolution.received,
        )
