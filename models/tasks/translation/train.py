"""From pairs of sentences to trained members: pieces are learnt, pairs become numbers, a member a seed is trained."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from models import side_by_side
from models.resume import claim, write_whole
from models.side_by_side import Tell
from models.tasks.translation.corpus import Corpus
from models.tasks.translation.examples import Examples, examples, marked_pairs
from models.tasks.translation.pieces import Pieces, learn
from models.tasks.translation.settings import Settings, with_vocabulary

PIECES, TRAIN, DEV = "pieces.model", "train.npz", "dev.npz"


def seeds(seed: int, members: int) -> tuple[int, ...]:
    """Of members.

    Raises:
        ValueError: no members.
    """
    if members < 1:
        raise ValueError(f"an ensemble needs at least one member, got {members}")
    return tuple(seed * 1000 + member for member in range(members))


def prepare(corpus: Corpus, dev: Corpus, settings: Settings, folder: Path) -> Settings:
    """Learns pieces and keeps pairs as numbers in ``folder``, unless they are there already.

    Returns:
        The settings for the vocabulary that was learnt.

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
    every: Sequence[int],
    *,
    device: str = "cpu",
    jobs: int | None = None,
    progress: Tell = lambda done, what: None,
) -> None:
    """Trains the members of some seeds on what ``prepare`` left in ``folder``; those finished there stay.

    Raises:
        ValueError, RuntimeError: as ``training.train``, in words.
    """
    from models.tasks.translation import training

    train, dev = (Examples.load(folder / "data" / name) for name in (TRAIN, DEV))
    fingerprint = f"{train.fingerprint} {dev.fingerprint}"
    training.claimed(folder, settings, fingerprint)
    side_by_side.train_members(
        partial(train_member, folder, settings, fingerprint, device),
        [one for one in every if training.finished(folder, one) is None],
        jobs=jobs or os.cpu_count() or 1,
        progress=progress,
    )


def train_member(
    folder: Path,
    settings: Settings,
    fingerprint: str,
    device: str,
    seed: int,
    tell: Callable[[float, str], None],
) -> None:
    """Trains one member; it lies in ``folder`` afterwards (``training.finished``).

    Raises:
        ValueError, FloatingPointError: as ``training.train``.
    """
    from models.tasks.translation import training

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
