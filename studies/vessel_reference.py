"""Training and builder of the eight reference artefacts of the vessel task, from simulated data.

    python -m studies.vessel_reference [--family dnn] [--scale 1.0] [--preset fast] [--out DIR]

Four families of ten members are trained; the four smaller artefacts hold member 0 of each.
"""

import time
from dataclasses import replace

import torch

from models.building import Provenance
from models.tasks.vessel.artefact import build
from models.tasks.vessel.artefact.ensemble import FAMILIES, SAMPLED
from models.tasks.vessel.training import train
from simulators.vessel.dataset import simulate
from studies import pages

SEED = 0
MEMBERS = 10


def main() -> None:
    parser = pages.parser("vessel_reference", __doc__, out=pages.ARTEFACTS / "vessel")
    parser.add_argument("--family", choices=FAMILIES, action="append")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the canonical size")
    parser.add_argument("--preset", choices=sorted(train.PRESETS), default="fast")
    parser.add_argument("--epochs", type=int, help="instead of the preset's")
    options = parser.parse_args()
    torch.set_num_threads(1)
    settings = train.PRESETS[options.preset]
    if options.epochs:
        settings = replace(settings, epochs=options.epochs, patience=min(settings.patience, options.epochs))
    data = simulate(options.scale, SEED)
    source = Provenance(f"{build.SIMULATED.description}, seed {SEED}, scale {options.scale:g}", build.SIMULATED.licence)
    for family in options.family or FAMILIES:
        started = time.monotonic()
        ensemble = train.train(
            family,
            data,
            members=MEMBERS,
            seed=SEED,
            settings=settings,
            progress=lambda state: print(state, flush=True),
        )
        for members in (MEMBERS, 1):
            name = f"{family}-{members}" + (f"x{ensemble.samples}" if family in SAMPLED else "")
            chosen = ensemble.select(slice(0, members))
            artefact = build.build(chosen, data, options.out / name, provenance=source)
            print(f"{artefact.tag}  {time.monotonic() - started:.0f} s", flush=True)


if __name__ == "__main__":
    main()
