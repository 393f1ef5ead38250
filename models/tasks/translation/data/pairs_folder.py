"""Folder of pairs for training: ``train.tsv.gz``, ``valid.tsv.gz`` and optionally ``shifted.tsv.gz``."""

import hashlib
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from models import provenance as provenance_file
from models.evaluation.unit_errors import BadFile
from models.provenance import UNSTATED, Provenance
from models.tasks.translation.data import corpus
from models.tasks.translation.data.corpus import Corpus

TRAIN, VALID, SHIFTED = "train", "valid", "shifted"
_SUFFIXES = (".tsv.gz", ".tsv")


@dataclass(frozen=True)
class Folder:
    """Pairs by purpose."""

    train: Corpus
    valid: Corpus
    """Pairs of the same domains, held out from training to choose weights, calibrate and evaluate."""
    shifted: Corpus
    """Pairs of other domains; may be empty."""
    provenance: Provenance

    @property
    def calibration(self) -> Corpus:
        """Half of ``valid`` that is used for calibration."""
        return self.valid.only(lambda pair: _half(pair.english) == 0)

    @property
    def judged(self) -> dict[str, Corpus]:
        """Evaluation pairs by name: the other half of ``valid`` and ``shifted``, domain by domain."""
        held = self.valid.only(lambda pair: _half(pair.english) == 1)
        return {
            **{f"held out: {name}": held.of_domains({name}) for name in _domains(held)},
            **{f"shifted: {name}": self.shifted.of_domains({name}) for name in _domains(self.shifted)},
        }


def read(directory: Path) -> Folder:
    """Return the pairs of a folder.

    Raises:
        BadFile: the folder or a file for training or validation does not exist, or a file cannot be read (see
            ``corpus.read``).
    """
    if not directory.is_dir():
        raise BadFile(f"{directory} is no folder; one with {TRAIN}.tsv.gz and {VALID}.tsv.gz is needed")
    corpora = {}
    for name in (TRAIN, VALID, SHIFTED):
        paths = [path for suffix in _SUFFIXES if (path := directory / f"{name}{suffix}").exists()]
        if not paths and name != SHIFTED:
            raise BadFile(f"{directory} has no {name}.tsv.gz; `demur data translation select` makes one")
        corpora[name] = corpus.read(paths[:1])
    return Folder(corpora[TRAIN], corpora[VALID], corpora[SHIFTED], provenance_file.read(directory))


def select(
    train: Sequence[Path],
    valid: Sequence[Path],
    out: Path,
    *,
    domains: Collection[str],
    shifted: Collection[str] = (),
    without: Collection[str] = (),
    provenance: Provenance = UNSTATED,
) -> list[Path]:
    """Write a folder with the pairs of some domains from larger files.

    Args:
        domains: domains of the training and validation pairs.
        shifted: domains for evaluation only, from both ``train`` and ``valid``.
        without: sources that are left out, by key.

    Returns:
        Paths of the written files.

    Raises:
        BadFile: a file cannot be read, a domain has no pairs, or a domain is in both lists.
    """
    if both := sorted(set(domains) & set(shifted)):
        raise BadFile(f"the domain {both[0]} cannot be trained on and be shifted")
    pairs, held = corpus.read(train).without(without), corpus.read(valid).without(without)
    there = {pair.domain for pair in (*pairs.pairs, *held.pairs)}
    if missing := sorted({*domains, *shifted} - there):
        raise BadFile(f"no pair is of the domain {missing[0]}; there are {', '.join(sorted(there))}")
    every = {
        TRAIN: pairs.of_domains(domains),
        VALID: held.of_domains(domains),
        SHIFTED: Corpus((*held.of_domains(shifted).pairs, *pairs.of_domains(shifted).pairs)),
    }
    out.mkdir(parents=True, exist_ok=True)
    written = []
    for name, chosen in every.items():
        if len(chosen):
            path = out / f"{name}.tsv.gz"
            with corpus.writing(path) as write:
                for pair in chosen.pairs:
                    write(pair)
            written.append(path)
    return [*written, provenance_file.write(out, provenance.description, provenance.licence)]


def _domains(pairs: Corpus) -> list[str]:
    """Return the domains, most frequent first."""
    return [name for name, _ in Counter(pair.domain for pair in pairs.pairs).most_common()]


def _half(text: str) -> int:
    return hashlib.sha256(text.encode()).digest()[0] % 2
