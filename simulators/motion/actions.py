"""Command-line action ``demur data motion simulate``."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from models.workbench import Action, Option, Progress
from simulators.motion import dataset
from simulators.motion.cities import CITIES

DATASHEET = "docs/datasheets/motion-simulator.md"


def extra(words: list[str]) -> dict[tuple[str, str], int]:
    """Return the number of scenes by split and city, parsed from words such as ``train:AnnArbor=200``.

    Raises:
        ValueError: a word has another form, or a split's city is given twice.
    """
    counts: dict[tuple[str, str], int] = {}
    for word in words:
        place, _, count = word.partition("=")
        split, _, city = place.partition(":")
        if not (city and count.isdecimal()):
            raise ValueError(f"--extra {word!r} is not of the form SPLIT:CITY=COUNT, such as train:AnnArbor=200")
        if (split, city) in counts:
            raise ValueError(f"--extra gives {place} twice")
        counts[split, city] = int(count)
    return counts


def _simulate(options: Mapping[str, Any], progress: Progress) -> list[Path]:
    return dataset.simulate(
        options["out"],
        options["scale"],
        options["seed"],
        options["cities"],
        extra=extra(options["extra"]),
        requests=options["requests"],
        rendered=not options["no_rendered"],
        processes=options["processes"],
        progress=progress,
    )


SIMULATE = Action(
    "simulate",
    "simulate the traffic of six cities, in the official layout",
    (
        Option("--out", "directory for the splits' folders", Path, required=True),
        Option("--scale", "multiplies the canonical numbers of scenes, at least one each", float, 1.0),
        Option("--seed", "equal seeds make equal scenes", int, 0),
        Option("--cities", "which cities", str, tuple(CITIES), count="+", choices=tuple(CITIES), metavar="CITY"),
        Option(
            "--extra",
            "scenes beside the canonical ones, in any weather of the city, for other partitions",
            str,
            (),
            count="+",
            metavar="SPLIT:CITY=COUNT",
        ),
        Option("--requests", "prediction requests of a scene at most", int, dataset.MOST_REQUESTS),
        Option("--no-rendered", "write no feature maps", None, False),
        Option("--processes", "how many work side by side", int, 2),
    ),
    _simulate,
    "simulating",
    DATASHEET,
)
ACTIONS = (SIMULATE,)
