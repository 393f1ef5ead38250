"""Command-line actions of the lesion simulator."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from models.tasks.lesion.data.official import SPLITS
from models.workbench import Action, Option, Progress
from simulators.lesion import dataset
from simulators.lesion.sites import SITES

DATASHEET = "docs/datasheets/lesion-simulator.md"


def extra(words: list[str]) -> dict[str, dict[str, int]]:
    """Return the number of scans by site and split, parsed from words such as ``site_e:train=10``.

    Raises:
        ValueError: a word has another form, or a site's split is given twice.
    """
    counts: dict[str, dict[str, int]] = {}
    for word in words:
        site, _, rest = word.partition(":")
        split, _, count = rest.partition("=")
        if not count.isdecimal():
            raise ValueError(f"--extra {word!r} is not of the form SITE:SPLIT=COUNT, such as site_e:train=10")
        if split in counts.setdefault(site, {}):
            raise ValueError(f"--extra gives {site}:{split} twice")
        counts[site][split] = int(count)
    return counts


def _simulate(options: Mapping[str, Any], progress: Progress) -> list[Path]:
    return dataset.simulate(
        options["out"], options["scale"], options["seed"], tuple(options["sites"]), progress, extra(options["extra"])
    )


ACTIONS = (
    Action(
        "simulate",
        "draw brains with lesions at the simulated sites, in the official layout",
        (
            Option("--out", "directory for the sites' folders", Path, required=True),
            Option("--scale", "multiplies the canonical numbers of scans, at least one each", float, 1.0),
            Option("--seed", "equal seeds draw equal scans", int, 0),
            Option("--sites", "which sites", str, tuple(SITES), count="+", choices=tuple(SITES), metavar="SITE"),
            Option(
                "--extra",
                f"scans beside the canonical ones, for experiments across sites; splits {', '.join(SPLITS)}",
                str,
                (),
                count="+",
                metavar="SITE:SPLIT=COUNT",
            ),
        ),
        _simulate,
        "simulating",
        DATASHEET,
    ),
)
"""Actions of ``demur data lesion``."""
