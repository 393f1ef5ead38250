"""``demur train TASK``: an ensemble from official files or from the simulator to a calibrated artefact."""

from __future__ import annotations

import argparse
import importlib
from pathlib import Path
from typing import Any

from models import replay
from services.app.model_store import Store
from services.cli.output import CommandError, ProgressLine, print_json
from services.cli.providers import NO_REPLAY_SET, NO_REPLAY_SET_HELP, PROVIDER_HELP, PROVIDERS, device
from services.runtime.settings import Settings
from services.tasks import WORKBENCHES

EXAMPLE = "demur train vessel --family symbolic --members 10 --data data/vessel --out runs/symbolic-10"


def arguments(parser: argparse.ArgumentParser) -> None:
    families = {task: importlib.import_module(place).FAMILIES for task, place in sorted(WORKBENCHES.items())}
    told = "; ".join(f"{task}: {', '.join(names)}" for task, names in families.items())
    parser.add_argument("task", choices=sorted(WORKBENCHES))
    parser.add_argument("--family", help=f"kind of model, by default the task's first. {told}")
    parser.add_argument(
        "--members", type=int, help="how many models the ensemble has; by default as in the paper, else 10"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the first member; the others count up")
    parser.add_argument(
        "--precision", choices=("fp32", "fp16", "int8"), help="translation: of the artefact's graphs; fp16 is for GPUs"
    )
    parser.add_argument("--provider", choices=PROVIDERS, help=PROVIDER_HELP)
    parser.add_argument("--full", action="store_true", help="the paper's settings instead of the fast recipe")
    parser.add_argument(
        "--brief", action="store_true", help="lesion: less than the fast recipe, for a trial of all steps"
    )
    parser.add_argument("--data", type=Path, required=True, help="directory of official CSV files (or of `demur data`)")
    parser.add_argument("--out", type=Path, required=True, help="directory of the artefact")
    parser.add_argument(NO_REPLAY_SET, action="store_true", help=NO_REPLAY_SET_HELP)
    parser.add_argument("--store", action="store_true", help="also put the artefact into the model store")
    parser.add_argument("--json", action="store_true", help="print a JSON document")


def run(given: argparse.Namespace) -> int:
    """Trains, calibrates, writes."""
    bench = importlib.import_module(WORKBENCHES[given.task])
    family = given.family or bench.FAMILIES[0]
    precision = {} if given.precision is None else {"precision": given.precision}
    if precision and not hasattr(bench, "PRECISIONS"):
        raise CommandError(f"--precision: artefacts of {given.task} have one precision, fp32; leave it out")
    preset = _preset(given, bench)
    computing = device(given)
    line = ProgressLine(f"training {family}")
    try:
        artefact = bench.train_artefact(
            family,
            given.data,
            given.out,
            members=given.members if given.members is not None else getattr(bench, "MEMBERS", 10),
            seed=given.seed,
            preset=preset,
            progress=line,
            device=computing,
            **precision,
        )
    except ModuleNotFoundError as error:
        raise CommandError(f"{error.name} is missing; install the training extra: pip install -e '.[train]'") from error
    except (ValueError, OSError, FloatingPointError) as error:
        raise CommandError(str(error)) from error
    if given.no_replay_set:
        artefact = replay.detached(artefact)
    if given.store:
        Store(Settings.read().home).add(given.out)
    document = {"tag": artefact.tag, "directory": str(given.out), "quality": artefact.manifest.quality}
    print_json(document) if given.json else print(f"{artefact.tag} in {given.out}; see its MODEL_CARD.md")
    return 0


def _preset(given: argparse.Namespace, bench: Any) -> str:
    """The recipe of training.

    Raises:
        CommandError: two of them, or one that the task does not have.
    """
    if given.full and given.brief:
        raise CommandError("--full and --brief exclude each other; give one of them")
    if given.brief and "brief" not in getattr(bench, "PRESETS", ()):
        raise CommandError(f"--brief: {given.task} has no such recipe; leave it out, the default is the fast one")
    return "full" if given.full else "brief" if given.brief else "fast"
