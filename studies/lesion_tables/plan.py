"""Plan of the runs: sizes, simulated scans, and rows and columns of the tables."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from models.tasks.lesion.networks.settings import PRESETS, Settings, UNetSizes, preset
from simulators.lesion.cohort import CANONICAL, Entry

INSIDE = ("site_a", "site_b", "site_c", "site_d")
TABLE_5 = (*INSIDE, "site_e")
"""Sites that are left out one at a time; the last of all sites is held out throughout, as Lausanne is."""
LAST = "site_f"
SITES = (*TABLE_5, LAST)
TESTED = ("in", "out", LAST)
"""Test sets of the models of Table 5."""
SPLITS = ("dev_in", "dev_out", "eval_in", "eval_out")
"""Evaluated splits, in the order of the paper's columns."""
CANONICAL_COUNTS = {split: sum(site.get(split, 0) for site in CANONICAL.values()) for split in ("train", *SPLITS)}


@dataclass(frozen=True)
class Plan:
    """Sizes of all simulations, trainings and evaluations."""

    seed: int = 0
    preset: str = "small"
    members: int = 5
    effort: float = 1.0
    """Factor of the preset's steps."""
    window: int = 96
    """Edge of the networks' input windows, voxels."""
    train: int = CANONICAL_COUNTS["train"]
    dev_in: int = CANONICAL_COUNTS["dev_in"]
    eval_in: int = CANONICAL_COUNTS["eval_in"]
    dev_out: int = CANONICAL_COUNTS["dev_out"]
    eval_out: int = CANONICAL_COUNTS["eval_out"]
    calibration: int = 40
    """Number of additional in-domain scans for the deferral threshold; never tuned or evaluated on."""
    site_members: int = 3
    site_channels: tuple[int, ...] = (8, 16, 32, 64, 96)
    site_steps: int = 300
    site_tests: int = 8
    """Number of test scans of each site."""
    site_train: int = 4
    """Number of training scans of each site used in choosing thresholds out of domain and in Table 5's ``out``."""

    def count(self, split: str) -> int:
        """Return the number of scans of a canonical split."""
        return int(getattr(self, split))

    def settings(self, family: str) -> Settings:
        """Return the training settings of a member of the main tables."""
        base = preset(self.preset, family)
        stages = [replace(stage, steps=max(1, round(self.effort * stage.steps))) for stage in base.stages]
        if family == "unetr":
            stages[-1] = replace(stages[-1], edge=self.window)
        return replace(base, stages=tuple(stages), window=self.window)

    @property
    def site_settings(self) -> Settings:
        """Training settings of the experiments across sites: a smaller U-Net, fewer steps."""
        base = PRESETS[self.preset]["unet"]
        stages = tuple(replace(stage, steps=self.site_steps) for stage in base.stages)
        return replace(base, sizes=UNetSizes(self.site_channels), stages=stages, window=self.window)

    def entries(self, split: str) -> tuple[Entry, ...]:
        """Return the scans of a canonical split, spread over its sites as in Table 1."""
        return tuple(Entry(site, split, index) for site, n in self._shares(split).items() for index in range(n))

    def calibrating(self) -> tuple[Entry, ...]:
        """Return in-domain scans beyond ``dev_in``, about the same number for each site."""
        known = self._shares("dev_in")
        shares = [self.calibration // len(INSIDE) + (at < self.calibration % len(INSIDE)) for at in range(len(INSIDE))]
        return tuple(
            Entry(site, "dev_in", known[site] + index)
            for site, share in zip(INSIDE, shares, strict=True)
            for index in range(share)
        )

    def of_site(self, site: str, split: str) -> tuple[Entry, ...]:
        """Return scans of the experiments across sites: ``train``, ``dev_in`` or ``eval_in`` of any site."""
        if split == "eval_in":
            return tuple(Entry(site, split, index) for index in range(self.site_tests))
        if site in INSIDE:
            return tuple(entry for entry in self.entries(split) if entry.site == site)
        like = max(self._shares(split).values())
        return tuple(Entry(site, split, index) for index in range(like))

    def all_entries(self, sites: bool) -> tuple[Entry, ...]:
        """Return every required scan once.

        Args:
            sites: include the scans of the experiments across sites.
        """
        entries = [entry for split in ("train", *SPLITS) for entry in self.entries(split)] + list(self.calibrating())
        if sites:
            entries += [
                e for site in SITES for split in ("train", "dev_in", "eval_in") for e in self.of_site(site, split)
            ]
        return tuple(dict.fromkeys(entries))

    def _shares(self, split: str) -> Mapping[str, int]:
        """Return the number of scans of a split by site: the canonical shares, at least one each."""
        total, canonical = self.count(split), CANONICAL_COUNTS[split]
        known = {site: splits[split] for site, splits in CANONICAL.items() if split in splits}
        return {site: max(1, round(total * count / canonical)) for site, count in known.items()}


Float64 = NDArray[np.float64]

SINGLE, ENSEMBLE, MCDP = "Single", "Deep Ensemble", "MCDP"


@dataclass(frozen=True)
class Row:
    """Row of Tables 9 to 11."""

    name: str
    architecture: str
    dropout: str
    kind: str

    @property
    def r_auc(self) -> str:
        """Name of the area of the row's own measure."""
        return "r_aac_entropy" if self.kind == SINGLE else "r_aac_rmi"


UNET, UNET_ENSEMBLE = Row("unet", "UNET", "0.0", SINGLE), Row("unet-ensemble", "UNET", "0.0", ENSEMBLE)
DROPOUT, DROPOUT_MCDP = Row("unet-dp", "UNET", "0.5", SINGLE), Row("unet-mcdp", "UNET", "0.5", MCDP)
UNETR, UNETR_ENSEMBLE = Row("unetr", "UNETR", "0.0", SINGLE), Row("unetr-ensemble", "UNETR", "0.0", ENSEMBLE)
BOTH = Row("both", "UNET ⊕ UNETR", "0.0", ENSEMBLE)
"""Ensemble that is not in the paper."""
ROWS = (UNET, UNET_ENSEMBLE, DROPOUT, DROPOUT_MCDP, UNETR, UNETR_ENSEMBLE, BOTH)
TITLES = {"dev_in": "Dev in", "dev_out": "Dev out", "eval_in": "Evl in", "eval_out": "Evl out"}


class Figures(Protocol):
    """Figures of Tables 2, 8, 9, 10 and 11."""

    def mean(self, row: Row, split: str, name: str) -> float:
        """Return ``ndsc``, ``lesion_f1`` or an area (``Row.r_auc``) as a share, over scans and models."""

    def pearson(self, split: str, name: str) -> float:
        """Return the correlation of ``dice`` or ``ndsc`` of the U-Net ensemble with lesion load."""


WAYS = ("In-domain Dev", "Out-domain Train + Dev", "Out-domain Test")
"""Ways of choosing thresholds in Table 4: on the development scans of the training site; on training and development
scans of the test site; on the test scans themselves (an upper bound).
"""


@dataclass(frozen=True)
class Crossed:
    """Table 4: mean nDSC [training site, test site] by way of choosing the threshold; NaN if there is none."""

    ndsc: Mapping[str, Float64]
    own: Float64
    """Thresholds of the first way, [training site]."""


@dataclass(frozen=True)
class Excluded:
    """One row of Table 5: figures of each model [models] on ``in``, ``out`` and the last site."""

    site: str
    kind: str
    ndsc: Mapping[str, Float64]
    r_auc: Mapping[str, Float64]
