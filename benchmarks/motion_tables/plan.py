"""What is simulated, trained and judged for the tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from benchmarks.motion_tables.rows import FAMILIES
from models.tasks.motion.training import presets
from models.tasks.motion.training.presets import Settings


@dataclass(frozen=True)
class Plan:
    """Everything that numbers depend on, besides the code."""

    seed: int = 0
    """Of the simulated scenes and of frozen masks; members have the seeds 1000 seed + 0, 1, ..."""
    scale: float = 1.0
    """Of the simulator's canonical numbers of scenes."""
    preset: str = "small"
    members: int = 5
    effort: float = 1.0
    """Multiplies the steps of training."""

    @property
    def seeds(self) -> tuple[int, ...]:
        """Of members."""
        return tuple(1000 * self.seed + member for member in range(self.members))

    def settings(self) -> Mapping[str, Settings]:
        """Family to how its members are trained."""
        return {family: self._scaled(presets.preset(self.preset, family)) for family in FAMILIES.values()}

    def _scaled(self, settings: Settings) -> Settings:
        schedule = settings.schedule
        length = max(round(schedule.length * self.effort), schedule.warmup + 1)
        return replace(settings, schedule=replace(schedule, length=length))
