"""Builds the reference artefact of the translation task out of trained members.

    demur data translation select --train ... --out PAIRS
    demur train translation --data PAIRS --out runs/translation-3  # hours; members lie in runs/translation-3.parts
    python -m benchmarks.translation_reference --pairs PAIRS --members runs/translation-3.parts [--out DIR]

For members that were trained piece by piece: ``demur train`` does the same at its end.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from models.executors.device import Device
from models.tasks.translation.data import pairs_folder
from models.tasks.translation.inference.members import PIECES
from models.tasks.translation.networks import settings as presets
from models.tasks.translation.text.pieces import Pieces
from models.tasks.translation.training import train
from models.training.parallel_training import seeds

ROOT = Path(__file__).resolve().parents[1]
SEED, MEMBERS, PRESET = 1, 3, "small"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=Path, required=True)
    parser.add_argument("--members", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=ROOT / "artefacts" / "translation")
    parser.add_argument("--threads", type=int, default=2)
    asked = parser.parse_args()
    count = len(Pieces((asked.members / "data" / PIECES).read_bytes()))
    settings = presets.with_vocabulary(presets.preset(PRESET), count)
    ensemble = train.assembled(asked.members, settings, seeds(SEED, MEMBERS), preset=PRESET)
    name = f"{ensemble.family}-{len(ensemble)}"
    told = [0.0]

    def tell(done: float, what: str) -> None:
        if time.monotonic() - told[0] > 5:
            told[0] = time.monotonic()
            sys.stderr.write(f"{done:.0%} {what}\n")

    found = train.built(
        ensemble, pairs_folder.read(asked.pairs), asked.out / name, device=Device(threads=asked.threads), progress=tell
    )
    size = sum(path.stat().st_size for path in (asked.out / name).iterdir())
    sys.stdout.write(f"{found.tag} {size / 1e6:.2f} MB {found.manifest.quality}\n")


if __name__ == "__main__":
    main()
