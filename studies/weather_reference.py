"""Training and builder of the seven reference artefacts of the weather task, from simulated data.

    python -m studies.weather_reference [--scale 0.1] [--work DIR] [--out DIR]

Takes an hour on two cores, most of it for networks; finished members stay in the work folder.
`studies.weather_tables` evaluates the same artefacts: it makes their page and, with ``--cards``, their cards.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import msgspec

from models.building import Labelled, Provenance
from models.tasks.weather.artefact import build
from models.tasks.weather.artefact.ensemble import VIRTUAL, Ensemble, join
from models.tasks.weather.data.features import SCHEMA
from models.tasks.weather.data.folder import labelled
from models.tasks.weather.spec import HEADS
from models.tasks.weather.training import boosting
from models.tasks.weather.training.train import NETWORK_ROWS
from simulators.weather.dataset import simulate
from studies import pages
from studies.served import progress, report
from studies.weather_tables.__main__ import RECIPE, SEED
from studies.weather_tables.served import Work, teller

NETWORKS = 5


def main() -> None:
    parser = pages.parser("weather_reference", __doc__, out=pages.ARTEFACTS / "weather", work="weather-tables")
    parser.add_argument("--scale", type=float, default=0.1)
    options = parser.parse_args()
    data = {name: labelled(rows) for name, rows in simulate(options.scale, SEED).items()}
    source = Provenance(f"simulated by simulators/weather of Demur, seed {SEED}, scale {options.scale:g}", "CC0-1.0")
    for name, ensemble in ensembles(Work(options.work), data).items():
        place = options.out / name
        report(build.build(ensemble, data, place, schema=SCHEMA, provenance=source, progress=progress(name)))


def ensembles(work: Work, data: Mapping[str, Labelled]) -> dict[str, Ensemble]:
    """Return ensembles by folder name; single models are the first members."""
    from models.tasks.weather.transformer import fit, train  # needs torch
    from models.tasks.weather.transformer.settings import PRESETS

    boosted = partial(
        boosting.train, {"train": data["train"], "dev_in": data["dev_in"]}, HEADS, SCHEMA, settings=RECIPE
    )
    trees = boosted(work.folder / "trees-reference", members=10)
    networks = train.train(
        fit.labelled(data["train"], NETWORK_ROWS),
        fit.labelled(data["dev_in"]),
        settings=PRESETS["fast"],
        members=NETWORKS,
        classes=HEADS[1].classes,
        sentinels=tuple((place, float(value)) for place, value in SCHEMA.sentinels),
        checkpoint=work.folder / "networks",
        progress=teller("networks"),
    )
    single = networks.select(slice(0, 1))
    return {
        "catboost-10": trees,
        "catboost-1": first(trees),
        "catboost_virtual-1x10": boosted(work.folder / "trees-reference-virtual", members=1, virtual=True),
        "ft_transformer-5": (deep := fit.exported(networks)),
        "ft_transformer-1": fit.exported(single),
        "ft_mcdp-1x10": fit.exported(single.sampled(VIRTUAL)),
        "combined-15": join(trees, deep),
    }


def first(trees: Ensemble) -> Ensemble:
    """Return an ensemble of the first member only."""
    (executor,) = trees.executors
    models = {head: names[:1] for head, names in executor.models.items()}
    files = {name: trees.files[name] for names in models.values() for name in names}
    alone = msgspec.structs.replace(executor, models=models)
    return replace(trees, members=1, executors=(alone,), files=files, seeds=trees.seeds[:1])


if __name__ == "__main__":
    main()
