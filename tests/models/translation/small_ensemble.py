"""A small ensemble that has learnt a made-up language of 20 words, and artefacts of it."""

from dataclasses import replace
from pathlib import Path

from models.artefact import Artefact
from models.building import Provenance
from models.tasks.translation.artefact import build
from models.tasks.translation.artefact.ensemble import Ensemble
from models.tasks.translation.data.corpus import Corpus
from models.tasks.translation.data.examples import Examples
from models.tasks.translation.networks import settings
from models.tasks.translation.networks.settings import Precision
from models.tasks.translation.training import member, train
from tests.models.translation.made import corpus

SETTINGS = replace(
    settings.preset("tiny"),
    sizes=replace(settings.preset("tiny").sizes, source=320, target=320, width=48, inner=96),
    steps=90,
    rate=8e-3,
    warmup=20,
    dev_every=90,
)


def ensemble(folder: Path, members: int = 3) -> Ensemble:
    """Trained on 600 pairs in some seconds; what is in the folder is found again."""
    chosen = train.prepare(corpus(600), corpus(60, seed=1), SETTINGS, folder)
    pairs, dev = (Examples.load(folder / "data" / name) for name in (train.TRAIN, train.DEV))
    for seed in range(members):
        member.train(pairs, dev, chosen, seed, folder=folder)
    return train.assembled(folder, chosen, range(members), preset="made up")


def artefact(
    folder: Path,
    members: int = 3,
    *,
    calibrated: int = 60,
    precision: Precision = "int8",
    source: Ensemble | None = None,
) -> Artefact:
    """Calibrated on so many pairs that the ensemble has not seen."""
    trained_ensemble = source or ensemble(folder / "parts", members)
    return build.build(
        trained_ensemble,
        folder / "artefact",
        precision=precision,
        train=corpus(600),
        calibration=corpus(calibrated, seed=2) if calibrated else None,
        judge={"held out": Corpus(corpus(20, seed=3).pairs)},
        provenance=Provenance("made-up sentences", "Apache-2.0"),
    )
