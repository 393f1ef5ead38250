"""Import of released CatBoost baselines: ``seed1.cbm`` … of the regression, and of the classification if present.

    DIR/seed{1..10}.cbm, or model{1..}.cbm      RMSEWithUncertainty: temperature; MultiClass: precipitation
    DIR/*/…                                     the same in folders, one per head

The loss in a file determines its head. Released files name no features: they take the official 123 by position.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from models.artefact import Artefact, ArtefactError
from models.building import Labelled, Provenance
from models.executors.device import CPU, Device
from models.executors.trees.model import open_model
from models.head import Head
from models.manifest import Executor
from models.schema import Schema
from models.tasks.weather.artefact import build
from models.tasks.weather.artefact.ensemble import Ensemble
from models.tasks.weather.data.features import SCHEMA
from models.tasks.weather.spec import HEADS

_NUMBERED = re.compile(r"(?:seed|model)_?(\d+)\.cbm")
PROVENANCE = Provenance(
    description="released Shifts weather baseline; training data not included",
    licence="see the licence that came with the models",
)


def import_released(
    directory: Path,
    out: Path,
    data: Mapping[str, Labelled] | None = None,
    *,
    schema: Schema = SCHEMA,
    device: Device = CPU,
) -> Artefact:
    """Make an artefact of released models; ``data["dev_in"]``, if given, calibrates it.

    Raises:
        ArtefactError: there are no numbered model files, a file is damaged or of neither kind, or heads have different
            members.
    """
    ensemble = load_released(directory, schema)
    heads = tuple(head for head in HEADS if head.name in ensemble.executors[0].models)
    return build.build(ensemble, data or {}, out, schema=schema, heads=heads, provenance=PROVENANCE, device=device)


def load_released(directory: Path, schema: Schema = SCHEMA) -> Ensemble:
    """Return the members in the order of their numbers.

    Raises:
        ArtefactError: see ``import_released``.
    """
    by_head: dict[str, dict[int, Path]] = {}
    for path in sorted([*directory.glob("*.cbm"), *directory.glob("*/*.cbm")]):
        if (match := _NUMBERED.fullmatch(path.name)) is None:
            continue
        head = _head(path, schema).name
        number = int(match.group(1))
        if number in by_head.setdefault(head, {}):
            raise ArtefactError(f"{path} and {by_head[head][number]} are both member {number} of {head}; keep one")
        by_head[head][number] = path
    if not by_head:
        raise ArtefactError(f"{directory}: no seed1.cbm, seed2.cbm … or model1.cbm …")
    numbers = {tuple(sorted(paths)) for paths in by_head.values()}
    if len(numbers) > 1:
        listing = "; ".join(f"{head}: {', '.join(map(str, sorted(paths)))}" for head, paths in by_head.items())
        raise ArtefactError(
            f"{directory}: heads with different members ({listing}); an ensemble needs the same of each"
        )
    (members,) = numbers
    models = {head: tuple(f"{head}-{number}.cbm" for number in members) for head in by_head}
    files = {f"{head}-{number}.cbm": path for head, paths in by_head.items() for number, path in paths.items()}
    return Ensemble(
        family="catboost",
        members=len(members),
        executors=(Executor(kind="catboost", layout="trees", models=models),),
        files=files,
        seeds=members,
        training={"origin": "released Shifts weather baseline"},
    )


def _head(path: Path, schema: Schema) -> Head:
    """Return the head that a model predicts, by its loss.

    Raises:
        ArtefactError: there is none, or see ``open_model``.
    """
    refused = []
    for head in HEADS:
        try:
            return open_model(path, head, schema).head
        except ArtefactError as error:
            refused.append(error)
    raise refused[0]
