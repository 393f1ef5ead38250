"""Which traces are recorded, as the standard variables of OpenTelemetry say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from services.runtime.variables import SettingsError
from services.tracing.context import Parent

NAMES = ("always_on", "always_off", "traceidratio")
_PARENT = "parentbased_"
_LOW = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class Sampler:
    """A share of traces, the same traces in every service that has the same share."""

    ratio: float
    parent_based: bool
    """Whether the caller's choice goes before the ratio."""

    @classmethod
    def read(cls, environment: Mapping[str, str]) -> Sampler:
        """Of OTEL_TRACES_SAMPLER and OTEL_TRACES_SAMPLER_ARG; ``parentbased_always_on`` where nothing is said.

        Raises:
            SettingsError: no sampler of OpenTelemetry's SDK, or no share.
        """
        name = environment.get("OTEL_TRACES_SAMPLER", "").strip().lower() or "parentbased_always_on"
        kind = name.removeprefix(_PARENT)
        if kind not in NAMES:
            known = ", ".join((*NAMES, *(_PARENT + one for one in NAMES)))
            raise SettingsError(f"OTEL_TRACES_SAMPLER = {name!r} is not known here; use {known}")
        ratio = {"always_on": 1.0, "always_off": 0.0}.get(kind)
        if ratio is None:
            ratio = _share(environment.get("OTEL_TRACES_SAMPLER_ARG", "").strip())
        return cls(ratio, name != kind)

    def takes(self, trace_id: int, parent: Parent | None) -> bool:
        """Whether a trace is recorded."""
        if parent is not None and self.parent_based:
            return parent.sampled
        return (trace_id & _LOW) < round(self.ratio * (_LOW + 1))


def _share(text: str) -> float:
    try:
        ratio = float(text or "1")
    except ValueError:
        ratio = -1.0
    if not 0 <= ratio <= 1:
        raise SettingsError(f"OTEL_TRACES_SAMPLER_ARG = {text!r}: a share of traces from 0 to 1 is needed")
    return ratio
