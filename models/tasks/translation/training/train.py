"""Training of a translation ensemble from a folder of pairs, to an artefact.

Steps: train the pieces, tokenise pairs, train a member per seed; finished results are kept and reused.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from models.executors.device import CPU, Device
from models.tasks.translation.artefact.recipe import Recipe
from models.tasks.translation.data import pairs_folder
from models.tasks.translation.data.corpus import Corpus
from models.tasks.translation.data.examples import Examples, examples, marked_pairs
from models.tasks.translation.data.pairs_folder import Folder
from models.tasks.translation.inference.members import PIECES
from models.tasks.translation.networks import settings as presets
from models.tasks.translation.networks.settings import Settings, with_vocabulary
from models.tasks.translation.text.literals import MARKS
from models.tasks.translation.text.pieces import Pieces, learn
from models.tasks.translation.text.tokens import trimmed
from models.tasks.translation.text.vocabulary import PAD, START, UNKNOWN
from models.training import checkpoints, parallel_training
from models.training.progress import ignore, span
from models.training.training_folder import claim, parts_folder, write_whole
from models.workbench import Progress

if TYPE_CHECKING:
    from models.artefact import Artefact
    from models.tasks.translation.artefact.ensemble import Ensemble
    from models.tasks.translation.networks.settings import Precision

TRAIN, DEV = "train.npz", "dev.npz"
FAMILIES = ("transformer",)
JUDGED = 1000
"""Largest number of pairs per domain for figures."""
_COMMAND_PRESETS = {"fast": "small", "full": "paper"}
_TRAINED = 0.95  # share of the time that has passed then
_LONGEST_FACTOR = 2.0
"""Factor of the length limit of a hypothesis: 99.9 % of translations in training are shorter."""


def train_artefact(
    family: str,
    directory: Path,
    out: Path,
    *,
    members: int,
    seed: int,
    preset: str,
    precision: Precision = "int8",
    parts: Path | None = None,
    jobs: int | None = None,
    progress: Progress = ignore,
    device: Device = CPU,
) -> Artefact:
    """Train an ensemble on a folder of pairs (``pairs_folder``) and write the calibrated artefact. Needs torch.

    Args:
        preset: also ``fast`` and ``full``, the names of the command line.
        parts: folder of pieces and members, from which an interrupted run resumes; by default a folder beside ``out``
            that is removed when the artefact is complete.
        jobs: members that are trained in parallel, by default one per core.
        device: runs the calibration, under its numeric profile.

    Raises:
        ValueError: the family or preset is unknown, or there are no members or too few pairs.
        BadFile: a file cannot be read.
        ArtefactError: the precision ranks sentences differently from float32.
        RuntimeError: a member's training failed; the message says why.
    """
    if family not in FAMILIES:
        raise ValueError(f"family {family!r} is unknown; use {', '.join(FAMILIES)}")
    preset = _COMMAND_PRESETS.get(preset, preset)
    seeds, chosen = parallel_training.seeds(seed, members), presets.preset(preset)
    folder = pairs_folder.read(directory)
    with parts_folder(out, parts) as kept:
        settings = prepare(folder.train, folder.valid, chosen, kept)
        train_members(kept, settings, seeds, jobs=jobs, progress=span(progress, 0, _TRAINED))
        artefact = built(
            assembled(kept, settings, seeds, preset=preset),
            folder,
            out,
            precision=precision,
            device=replace(device, threads=jobs or os.cpu_count() or 1),
            progress=span(progress, _TRAINED, 1),
        )
    progress(1.0, artefact.tag)
    return artefact


def built(
    ensemble: Ensemble,
    folder: Folder,
    out: Path,
    *,
    precision: Precision = "int8",
    device: Device = CPU,
    progress: Progress = ignore,
) -> Artefact:
    """Write the calibrated artefact of an ensemble, evaluated on the held-out pairs of its folder.

    Raises:
        ArtefactError: the precision ranks sentences differently from float32.
    """
    from models.tasks.translation.artefact.build import build

    return build(
        ensemble,
        out,
        precision=precision,
        train=folder.train,
        calibration=folder.calibration,
        judge={name: _spaced(pairs) for name, pairs in folder.judged.items()},
        provenance=folder.provenance,
        device=device,
        progress=progress,
    )


def _spaced(pairs: Corpus) -> Corpus:
    """Return at most ``JUDGED`` pairs, evenly spaced."""
    rows = np.unique(np.linspace(0, len(pairs) - 1, min(JUDGED, len(pairs))).astype(int))
    return Corpus(tuple(pairs.pairs[row] for row in rows))


def assembled(folder: Path, settings: Settings, seeds: Sequence[int], *, preset: str) -> Ensemble:
    """Return the ensemble of finished members of a folder, without unused rows of embedding tables. Needs torch.

    Raises:
        ValueError: a member is not finished there.
    """
    from models.tasks.translation.artefact.ensemble import Ensemble

    trained = checkpoints.finished_members(folder, seeds)
    pieces = Pieces((folder / "data" / PIECES).read_bytes())
    pairs = Examples.load(folder / "data" / TRAIN)
    tokens = trimmed(pieces, pairs.source, pairs.target)
    weights = []
    for member in trained:
        arrays = {name: value.numpy() for name, value in member.weights.items()}
        for side, rows in (("encoder", tokens.source), ("decoder", tokens.target)):
            arrays[f"{side}.embed_tokens.weight"] = np.ascontiguousarray(
                arrays[f"{side}.embed_tokens.weight"][list(rows)]
            )
        weights.append(arrays)
    sizes = replace(settings.sizes, source=len(tokens.source), target=len(tokens.target), shared=False)
    return Ensemble(
        family=FAMILIES[0],
        members=tuple(weights),
        sizes=sizes,
        recipe=Recipe(
            source=tokens.source,
            target=tokens.target,
            marks=len(MARKS),
            forbidden=(START, PAD, UNKNOWN),
            longest_factor=_LONGEST_FACTOR,
            longest_sentence=settings.longest,
        ),
        tokeniser={PIECES: pieces.content},
        seeds=tuple(seeds),
        training={
            "preset": preset,
            "parameters_of_a_member": _parameters(trained[0].weights, settings),
            "pairs": len(pairs),
            "steps": max(member.steps for member in trained),
            "tokens_of_a_step": settings.batch_tokens,
            "dev_nll_nats_per_token": round(float(np.mean([member.score for member in trained])), 4),
        },
    )


def prepare(corpus: Corpus, dev: Corpus, settings: Settings, folder: Path) -> Settings:
    """Train pieces and store tokenised pairs in ``folder``, unless they exist.

    Returns:
        The settings for the trained vocabulary.

    Raises:
        ValueError: the folder was prepared for other pairs or settings, or there are too few pairs.
    """
    data = folder / "data"
    claim(data, {"corpus": corpus.fingerprint, "dev": dev.fingerprint, "settings": repr(settings)})
    if not (data / DEV).exists():
        texts = (side for _, *sides in marked_pairs(corpus) for side in sides)
        pieces = learn(texts, settings.sizes.source)
        write_whole(data / PIECES, pieces.content)
        examples(corpus, pieces, settings.longest).save(data / TRAIN)
        examples(dev, pieces, settings.longest).save(data / DEV)
    return with_vocabulary(settings, len(Pieces((data / PIECES).read_bytes())))


def train_members(
    folder: Path,
    settings: Settings,
    seeds: Sequence[int],
    *,
    device: str = "cpu",
    jobs: int | None = None,
    progress: Progress = ignore,
) -> None:
    """Train the members of some seeds on the data of ``prepare`` in ``folder``; finished members are kept.

    Raises:
        ValueError, RuntimeError: see ``training.train``.
    """
    train, dev = (Examples.load(folder / "data" / name) for name in (TRAIN, DEV))
    fingerprint = f"{train.fingerprint} {dev.fingerprint}"
    checkpoints.claim_members(folder, settings, examples=fingerprint)
    parallel_training.train_members(
        partial(train_member, folder, settings, fingerprint, device),
        [seed for seed in seeds if checkpoints.finished(folder, seed) is None],
        jobs=jobs,
        progress=progress,
    )


def train_member(
    folder: Path,
    settings: Settings,
    fingerprint: str,
    device: str,
    seed: int,
    tell: Progress,
) -> None:
    """Train one member and store it in ``folder`` (``checkpoints.finished``).

    Raises:
        ValueError, FloatingPointError: see ``training.train``.
    """
    from models.tasks.translation.training import member as training

    train, dev = (Examples.load(folder / "data" / name) for name in (TRAIN, DEV))
    training.train(
        train,
        dev,
        settings,
        seed,
        folder=folder,
        fingerprint=fingerprint,
        device=device,
        progress=lambda state: tell(state.share, str(state)),
    )


def _parameters(weights: Mapping[str, Any], settings: Settings) -> int:
    """Return the number of trained parameters; a table that both sides share counts once."""
    shared = ("decoder.embed_tokens.weight",) if settings.sizes.shared else ()
    return sum(value.numel() for name, value in weights.items() if name not in shared)
