"""Builder of the reference artefact of the translation task from trained members.

    demur data translation select --train ... --out PAIRS
    demur train translation --data PAIRS --out runs/translation-3  # hours; members lie in runs/translation-3.parts
    python -m studies.translation_reference --pairs PAIRS --members runs/translation-3.parts [--out DIR]

The command is for members that were trained piece by piece: ``demur train`` does the same at its end.
"""

from pathlib import Path

from models.executors.device import Device
from models.tasks.translation.data import pairs_folder
from models.tasks.translation.inference.members import PIECES
from models.tasks.translation.networks import settings as presets
from models.tasks.translation.text.pieces import Pieces
from models.tasks.translation.training import train
from models.training.parallel_training import seeds
from studies import pages
from studies.served import progress, report

SEED, MEMBERS, PRESET = 1, 3, "small"


def main() -> None:
    parser = pages.parser("translation_reference", __doc__, out=pages.ARTEFACTS / "translation")
    parser.add_argument("--pairs", type=Path, required=True)
    parser.add_argument("--members", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    count = len(Pieces((options.members / "data" / PIECES).read_bytes()))
    settings = presets.with_vocabulary(presets.preset(PRESET), count)
    ensemble = train.assembled(options.members, settings, seeds(SEED, MEMBERS), preset=PRESET)
    name = f"{ensemble.family}-{len(ensemble)}"
    pairs, device = pairs_folder.read(options.pairs), Device(threads=options.threads)
    report(train.built(ensemble, pairs, options.out / name, device=device, progress=progress(name)))


if __name__ == "__main__":
    main()
