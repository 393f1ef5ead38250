"""List of scans to simulate: the canonical splits of Table 1 of Shifts 2.0 over the simulated sites."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from models.tasks.lesion.data.official import SPLITS
from simulators.lesion.sites import SITES

CANONICAL: Mapping[str, Mapping[str, int]] = {
    "site_a": {"train": 8, "dev_in": 2, "eval_in": 5},
    "site_b": {"train": 5, "dev_in": 1, "eval_in": 2},
    "site_c": {"train": 10, "dev_in": 2, "eval_in": 17},
    "site_d": {"train": 10, "dev_in": 2, "eval_in": 9},
    "site_e": {"dev_out": 25},
    "site_f": {"eval_out": 74},
}
"""Number of scans by site and split at scale 1: 33, 7, 33, 25 and 74 in the five splits."""


@dataclass(frozen=True, slots=True)
class Entry:
    """Identity of one scan to be drawn."""

    site: str
    split: str
    index: int

    @property
    def id(self) -> str:
        """Name of the scan in its files; unique among all scans of a seed."""
        return f"{self.site.removeprefix('site_')}_{self.split}_{self.index:03d}"

    def rng(self, seed: int) -> np.random.Generator:
        """Return the generator of this scan alone, so that the scan is the same in every subset."""
        return np.random.default_rng([seed, tuple(SITES).index(self.site), SPLITS.index(self.split), self.index])


def entries(
    scale: float = 1.0,
    sites: tuple[str, ...] = tuple(SITES),
    extra: Mapping[str, Mapping[str, int]] | None = None,
) -> Iterator[Entry]:
    """Yield the scans of the sites, by site and split.

    Args:
        scale: factor of the canonical numbers; at least one scan each.
        extra: number of scans by site and split that replaces the canonical number and is not scaled. For experiments
            across sites, a shifted site can have ``train``, ``dev_in`` and ``eval_in``, too.

    Raises:
        ValueError: a scale that is not above 0, an unknown site or split, or a negative number.
    """
    if not 0 < scale < np.inf:
        raise ValueError(f"scale is {scale}; a number above 0 is needed, 1 for the canonical number of scans")
    extra = extra or {}
    for site in (*sites, *extra):
        if site not in SITES:
            raise ValueError(f"site is {site!r}; the simulated sites are {', '.join(SITES)}")
    for site in SITES:
        if site not in sites and site not in extra:
            continue
        canonical = {split: max(1, round(scale * count)) for split, count in CANONICAL[site].items()}
        counts = (canonical if site in sites else {}) | dict(extra.get(site, {}))
        for split, count in counts.items():
            if split not in SPLITS or count < 0:
                raise ValueError(
                    f"{site}: {count} scans of {split!r}; numbers from 0 of {', '.join(SPLITS)} are needed"
                )
            for index in range(count):
                yield Entry(site, split, index)
