"""How large the runs are, and which scans they take of the simulator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from models.tasks.lesion.networks.settings import PRESETS, Settings, UNetSizes, preset
from simulators.lesion.cohort import CANONICAL, Entry

INSIDE = ("site_a", "site_b", "site_c", "site_d")
TABLE_5 = (*INSIDE, "site_e")
"""Sites that are left out one at a time; the last of all is held out throughout, as Lausanne is."""
LAST = "site_f"
SITES = (*TABLE_5, LAST)
SPLITS = ("dev_in", "dev_out", "eval_in", "eval_out")
"""Judged, in the order of the paper's columns."""
CANONICAL_COUNTS = {split: sum(site.get(split, 0) for site in CANONICAL.values()) for split in ("train", *SPLITS)}


@dataclass(frozen=True)
class Plan:
    """What is simulated, trained and judged."""

    seed: int = 0
    preset: str = "small"
    members: int = 5
    effort: float = 1.0
    """Multiplies the preset's steps."""
    window: int = 96
    """Edge of what networks are run on, voxels."""
    train: int = CANONICAL_COUNTS["train"]
    dev_in: int = CANONICAL_COUNTS["dev_in"]
    eval_in: int = CANONICAL_COUNTS["eval_in"]
    dev_out: int = CANONICAL_COUNTS["dev_out"]
    eval_out: int = CANONICAL_COUNTS["eval_out"]
    calibration: int = 40
    """Further in-domain scans that the deferral threshold is taken from; never tuned or judged on."""
    site_members: int = 3
    site_channels: tuple[int, ...] = (8, 16, 32, 64, 96)
    site_steps: int = 300
    site_tests: int = 8
    """Test scans of each site."""
    site_train: int = 4
    """Training scans of each site that take part in choosing thresholds out of domain and in Table 5's ``out``."""

    def count(self, split: str) -> int:
        """Scans of a canonical split."""
        return int(getattr(self, split))

    def settings(self, family: str) -> Settings:
        """How a member of the main tables is trained."""
        found = preset(self.preset, family)
        stages = [replace(stage, steps=max(1, round(self.effort * stage.steps))) for stage in found.stages]
        if family == "unetr":
            stages[-1] = replace(stages[-1], edge=self.window)
        return replace(found, stages=tuple(stages), window=self.window)

    @property
    def site_settings(self) -> Settings:
        """How a member of the experiments across sites is trained: a smaller U-Net, fewer steps."""
        found = PRESETS[self.preset]["unet"]
        stages = tuple(replace(stage, steps=self.site_steps) for stage in found.stages)
        return replace(found, sizes=UNetSizes(self.site_channels), stages=stages, window=self.window)

    def entries(self, split: str) -> tuple[Entry, ...]:
        """Scans of a canonical split, spread over its sites as in Table 1."""
        return tuple(Entry(site, split, index) for site, n in self._shares(split).items() for index in range(n))

    def calibrating(self) -> tuple[Entry, ...]:
        """In-domain scans beyond ``dev_in``, a like number of each site."""
        known = self._shares("dev_in")
        shares = [self.calibration // len(INSIDE) + (at < self.calibration % len(INSIDE)) for at in range(len(INSIDE))]
        return tuple(
            Entry(site, "dev_in", known[site] + index)
            for site, share in zip(INSIDE, shares, strict=True)
            for index in range(share)
        )

    def of_site(self, site: str, split: str) -> tuple[Entry, ...]:
        """Scans of the experiments across sites: ``train``, ``dev_in`` or ``eval_in`` of any site."""
        if split == "eval_in":
            return tuple(Entry(site, split, index) for index in range(self.site_tests))
        if site in INSIDE:
            return tuple(entry for entry in self.entries(split) if entry.site == site)
        like = max(self._shares(split).values())
        return tuple(Entry(site, split, index) for index in range(like))

    def all_entries(self, sites: bool) -> tuple[Entry, ...]:
        """Every scan that is needed, each once.

        Args:
            sites: with those of the experiments across sites.
        """
        found = [entry for split in ("train", *SPLITS) for entry in self.entries(split)] + list(self.calibrating())
        if sites:
            found += [
                e for site in SITES for split in ("train", "dev_in", "eval_in") for e in self.of_site(site, split)
            ]
        return tuple(dict.fromkeys(found))

    def _shares(self, split: str) -> Mapping[str, int]:
        """Site to scans of a split: the canonical shares, at least one each."""
        wanted, canonical = self.count(split), CANONICAL_COUNTS[split]
        known = {site: splits[split] for site, splits in CANONICAL.items() if split in splits}
        return {site: max(1, round(wanted * count / canonical)) for site, count in known.items()}
