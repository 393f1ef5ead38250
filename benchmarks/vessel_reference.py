"""Trains and builds the eight reference artefacts of the vessel task from the simulator.

    python benchmarks/vessel_reference.py [--family dnn] [--scale 1.0] [--preset fast] [--out DIR]

Four families of ten members are trained; the four smaller artefacts hold member 0 of each.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from pathlib import Path

import torch

from models.building import Provenance
from models.tasks.vessel.artefact import build
from models.tasks.vessel.artefact.ensemble import FAMILIES, SAMPLED
from models.tasks.vessel.training import train
from simulators.vessel.dataset import simulate

SEED = 0
MEMBERS = 10
ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--family", choices=FAMILIES, action="append")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the canonical size")
    parser.add_argument("--preset", choices=sorted(train.PRESETS), default="fast")
    parser.add_argument("--epochs", type=int, help="instead of the preset's")
    parser.add_argument("--out", type=Path, default=ROOT / "artefacts" / "vessel")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    settings = train.PRESETS[asked.preset]
    if asked.epochs:
        settings = replace(settings, epochs=asked.epochs, patience=min(settings.patience, asked.epochs))
    data = simulate(asked.scale, SEED)
    source = Provenance(f"{build.SIMULATED.description}, seed {SEED}, scale {asked.scale:g}", build.SIMULATED.licence)
    for family in asked.family or FAMILIES:
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
            artefact = build.build(chosen, data, asked.out / name, provenance=source)
            print(f"{artefact.tag}  {time.monotonic() - started:.0f} s", flush=True)


if __name__ == "__main__":
    main()
