"""Builder of a servable artefact from the ten boosted models of a real set.

    python -m studies.weather_real.artefact hannover OUT

The trained members are kept beside OUT. The artefact is for this page only: the licences of the data do not mention
models.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from models.artefact import Artefact
from models.building import Labelled, Provenance
from models.tasks.weather.artefact import build
from models.tasks.weather.training import boosting
from models.tasks.weather.training.boosting import Settings
from models.tasks.weather.training.boosting import Trees as Size
from studies import pages
from studies.weather_real.data import SETS, Part, RealSet, folder
from studies.weather_real.forecasts import SEEDS, TREES

SETTINGS = Settings(Size(4, TREES, 0.1), Size(4, TREES, 0.1), patience=50, threads=1)


def make(data: RealSet, out: Path) -> Artefact:
    """Train as for the page, and calibrate on rows used neither for training nor for stopping."""
    parts = {name: data.part(getattr(data.split, name)) for name in ("train", "stop", "calibrate", "test")}
    ensemble = boosting.train(
        {"train": _labelled(parts["train"]), "dev_in": _labelled(parts["stop"])},
        data.heads,
        data.schema,
        out.with_name(f"{out.name}.parts"),
        members=len(SEEDS),
        settings=SETTINGS,
    )
    judged = {"train": parts["train"], "dev_in": parts["calibrate"], "test": parts["test"]}
    return build.build(
        ensemble,
        {name: _labelled(part) for name, part in judged.items()},
        out,
        schema=data.schema,
        heads=data.heads,
        provenance=Provenance(data.title, "of the data, see the page; not for shipping"),
    )


def _labelled(part: Part) -> Labelled:
    return Labelled(part.rows, part.labels, part.time)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = pages.parser("weather_real.artefact", __doc__)
    parser.add_argument("set", choices=SETS)
    parser.add_argument("out", type=Path)
    options = parser.parse_args(arguments)
    made = make(SETS[options.set](folder()), options.out)
    sys.stdout.write(f"{made.tag} in {options.out}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
