"""The template read once, and scans drawn once, for all tests of the simulator."""

from functools import cache

from simulators.lesion import scan
from simulators.lesion.cohort import Entry
from simulators.lesion.sites import SITES
from simulators.lesion.template import Template, load


@cache
def average() -> Template:
    return load()


@cache
def drawn(site: str, split: str, index: int = 0, seed: int = 0) -> scan.Simulated:
    return scan.draw(Entry(site, split, index).rng(seed), average(), SITES[site])
