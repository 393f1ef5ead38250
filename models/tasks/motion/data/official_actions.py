"""Actions of ``demur data motion`` on files in the official layout, and conversion to it."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from models.tasks.motion.data import folders, official, partitioning, rendering, tags
from models.tasks.motion.data.argoverse import convert
from models.tasks.motion.data.argoverse.roads import SPEED_LIMIT
from models.tasks.motion.data.canonical import CANONICAL, Partition, rule
from models.tasks.motion.data.folders import SPLITS, TAGS
from models.tasks.motion.inference.grid import OFFICIAL, Grid
from models.workbench import Action, Option, Progress

__all__ = ["ACTIONS"]

DATASHEET = "docs/motion-data.md"
_RULE = "TAG=VALUE,VALUE"


def _convert(options: Mapping[str, Any], progress: Progress) -> list[Path]:
    convert.convert(
        options["folders"],
        options["out"],
        options["split"],
        stride=options["stride"],
        speed_limit=options["speed_limit"],
        progress=progress,
    )
    return _files(options["out"], options["split"])


def _partition(options: Mapping[str, Any], progress: Progress) -> list[Path]:
    return partitioning.divide(options["folder"], options["out"], _rules(options), options["how"], progress)


def _rules(options: Mapping[str, Any]) -> Partition:
    """Return the requested rules, by default the canonical ones."""
    if not options["by"]:
        if options["shifted"]:
            raise ValueError(
                "--shifted needs --by, which says what is in-domain; without both the partition is canonical"
            )
        return CANONICAL
    shifted = rule(options["shifted"])
    return Partition(rule(options["by"]), {name: shifted for name in ("dev", "eval") if options["shifted"]})


def _render(options: Mapping[str, Any], progress: Progress) -> list[Path]:
    grid = Grid(options["size"], options["resolution"])
    return [
        rendering.render(split, grid, processes=options["processes"], again=options["again"], progress=progress)
        for split in _splits(options)
    ]


def _tags(options: Mapping[str, Any], progress: Progress) -> list[Path]:
    written: list[Path] = []
    for done, split in enumerate(chosen := _splits(options)):
        progress(done / len(chosen), split.scenes.name)
        path = split.tags or split.beside(TAGS)
        if split.tags is not None:
            raise ValueError(f"{path} is there already; take it away to have it written anew")
        with path.open("w", encoding="utf-8") as file:
            file.writelines(tags.line(scene.tags) + "\n" for scene in official.scene_files(split))
        written.append(path)
    return written


def _splits(options: Mapping[str, Any]) -> list[folders.Split]:
    """Return the requested splits, by default all."""
    if options["splits"]:
        return [folders.split(options["folder"], name) for name in options["splits"]]
    return list(folders.splits(options["folder"]))


def _files(out: Path, split: str) -> list[Path]:
    converted = folders.split(out, split)
    return [converted.scenes, *([converted.tags] if converted.tags else [])]


_FOLDER = Option("folder", "data set in the official layout, or one folder of its scenes", Path)
_SPLITS = Option("--splits", "which splits; default: all that are there", str, (), count="+", choices=tuple(SPLITS))

CONVERT = Action(
    "convert",
    "make official scenes of Argoverse 2 sensor logs and forecasting scenarios",
    (
        Option("folders", "folders with logs or scenarios in them or below", Path, count="+", metavar="FOLDER"),
        Option("--out", "directory for the scenes and their tags", Path, required=True),
        Option("--split", "which split they become", str, "eval", choices=tuple(SPLITS)),
        Option("--stride", "from one scene of a recording to the next, s; a multiple of 0.2", float, 1.0),
        Option("--speed-limit", "of all lanes, m/s: the files tell none", float, SPEED_LIMIT),
    ),
    _convert,
    "converting",
    DATASHEET,
)
PARTITION = Action(
    "partition",
    "divide a data set anew by the tags of its scenes; without rules, canonically",
    (
        _FOLDER,
        Option("--out", "directory for the other data set", Path, required=True),
        Option(
            "--by",
            "in-domain scenes, such as track=Moscow,AnnArbor precipitation=NoPrecipitation",
            str,
            (),
            count="+",
            metavar=_RULE,
        ),
        Option("--shifted", "shifted scenes of dev and eval, such as track=TelAviv", str, (), count="+", metavar=_RULE),
        Option(
            "--how",
            "link to scenes and maps, copy them, or list the paths of each part",
            str,
            "link",
            choices=("link", "copy", "list"),
        ),
    ),
    _partition,
    "dividing",
    DATASHEET,
)
RENDER = Action(
    "render",
    "draw the feature maps of all requests, as the released archives have them",
    (
        _FOLDER,
        _SPLITS,
        Option("--size", "cells a side", int, OFFICIAL.size),
        Option("--resolution", "edge of a cell, m", float, OFFICIAL.resolution),
        Option("--processes", "that draw side by side", int, os.cpu_count() or 1),
        Option("--again", "also maps that are there already", None),
    ),
    _render,
    "rendering",
    DATASHEET,
)
TAG = Action(
    "tags",
    "write the file of tags from the scenes, where there is none",
    (_FOLDER, _SPLITS),
    _tags,
    "reading",
    DATASHEET,
)
ACTIONS = (CONVERT, PARTITION, RENDER, TAG)
"""Actions of ``demur data`` besides the simulator."""
