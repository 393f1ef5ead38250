"""``demur train TASK``: an ensemble from official files or from the simulator to a calibrated artefact."""

import importlib
from pathlib import Path
from typing import Any

from click import Choice, argument, option

from models import replay
from services.app.model_store import Store
from services.cli.options import (
    Options,
    command,
    device,
    json_option,
    no_replay_set_option,
    precision_option,
    provider_option,
    switch,
)
from services.cli.output import CommandError, ProgressLine, print_json
from services.runtime.settings import Settings
from services.tasks import WORKBENCHES


def _families() -> str:
    """Return the kinds of models of each task."""
    families = {task: importlib.import_module(place).FAMILIES for task, place in sorted(WORKBENCHES.items())}
    return "; ".join(f"{task}: {', '.join(names)}" for task, names in families.items())


@command("train", example="demur train vessel --family symbolic --members 10 --data data/vessel --out runs/symbolic-10")
@argument("task", type=Choice(sorted(WORKBENCHES)))
@option("--family", help=f"Kind of model.  [default: the task's first]  {_families()}")
@option("--members", type=int, help="Number of models in the ensemble.  [default: as in the paper, else 10]")
@option("--seed", type=int, default=0, show_default=True, help="Seed of the first member; the others count up.")
@precision_option
@provider_option
@switch("--full", help="Use the settings of the paper instead of the fast recipe.")
@switch("--brief", help="lesion: do less than the fast recipe, to try all steps.")
@option("--data", type=Path, required=True, help="Folder of official files, or of files of `demur data`.")
@option("--out", type=Path, required=True, help="Folder of the new artefact.")
@no_replay_set_option
@switch("--store", help="Also add the artefact to the model store.")
@json_option
def train(options: Options) -> int:
    """Train an ensemble on official or simulated files, calibrate it and write it as an artefact."""
    bench = importlib.import_module(WORKBENCHES[options.task])
    family = options.family or bench.FAMILIES[0]
    precision = {} if options.precision is None else {"precision": options.precision}
    if precision and not hasattr(bench, "PRECISIONS"):
        raise CommandError(f"--precision: artefacts of {options.task} have one precision, fp32; leave it out")
    preset = _preset(options, bench)
    computing = device(options)
    line = ProgressLine(f"training {family}")
    try:
        artefact = bench.train_artefact(
            family,
            options.data,
            options.out,
            members=options.members if options.members is not None else getattr(bench, "MEMBERS", 10),
            seed=options.seed,
            preset=preset,
            progress=line,
            device=computing,
            **precision,
        )
    except ModuleNotFoundError as error:
        raise CommandError(f"{error.name} is missing; install the training extra: pip install -e '.[train]'") from error
    except (ValueError, OSError, FloatingPointError) as error:
        raise CommandError(str(error)) from error
    if options.no_replay_set:
        artefact = replay.detached(artefact)
    if options.store:
        Store(Settings.read().home).add(options.out)
    document = {"tag": artefact.tag, "directory": str(options.out), "quality": artefact.manifest.quality}
    print_json(document) if options.json else print(f"{artefact.tag} in {options.out}; see its MODEL_CARD.md")
    return 0


def _preset(options: Options, bench: Any) -> str:
    """Return the recipe of the training.

    Raises:
        CommandError: two recipes, or one that the task does not have.
    """
    if options.full and options.brief:
        raise CommandError("--full and --brief exclude each other; give one of them")
    if options.brief and "brief" not in getattr(bench, "PRESETS", ()):
        raise CommandError(f"--brief: {options.task} has no such recipe; leave it out, the default is the fast one")
    return "full" if options.full else "brief" if options.brief else "fast"
