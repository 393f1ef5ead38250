"""Resolutions as callers are told them: canonical labels become values again."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace

from models.head import Head
from models.label_errors import LabelRule
from services.labels.resolution import Resolution
from services.labels.words import Blobs, Told


@dataclass(frozen=True)
class Teller:
    """Knows heads, and where large labels are."""

    heads: Mapping[str, Head]
    judgings: Mapping[str, LabelRule]
    store: Blobs

    async def told(self, resolution: Resolution) -> Told:
        """A resolution for callers."""
        told = Told(resolution.unit, resolution.status, resolution.state, resolution.head)
        if resolution.status != "resolved":
            return told
        value = resolution.value
        if value is None and resolution.value_ref is not None:
            value = await asyncio.to_thread(self.store.get, resolution.value_ref)
        assert value is not None
        return replace(
            told,
            value=self.judgings[resolution.head].value(value),
            label=self.heads[resolution.head].label,
            source=resolution.source,
            version=resolution.version,
            observed=resolution.observed,
            received=resolution.received,
        )
