"""Real sentence pairs for evaluation: held out, of domains that are never trained on, and public test sets.

They lie in ``translation`` of DEMUR_TEST_DATA (default: ../shared/data beside the repository) and are never copied into
the repository; each set states what may be quoted.
"""

import json
import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models.building import UNSTATED
from models.tasks.translation.data import corpus
from models.tasks.translation.data.corpus import Corpus, Pair
from models.tasks.translation.data.lines import text_lines
from models.tasks.translation.data.pairs_folder import Folder
from models.training.training_folder import DESCRIPTION, write_whole
from studies.jobs import Piece, Tell
from studies.pages import real_data
from studies.translation_tables.plan import Plan, capped

TRAINED = ("everyday", "literary", "docs", "medical")
SHIFTED = ("social", "religious")
WITHOUT = ("xquad", "ud-pud", "mozilla-www")
"""Sources that are left out for their licences (CC BY-SA, MPL)."""
CALIBRATION, COMPARED, TATOEBA, NTREX = "calibration", "compared", "tatoeba", "ntrex"
HELD = tuple(f"held-{name}" for name in TRAINED)
WMT22 = tuple(f"wmt22-{name}" for name in ("news", "social", "ecommerce", "conversation"))
WMT24 = tuple(f"wmt24-{name}" for name in ("news", "social", "speech", "literary"))
CANARY = "canary"
TRAIN_FILES, VALID_FILES = ("train.general.tsv.gz", "train.docs.tsv.gz"), ("valid.tsv.gz",)


@dataclass(frozen=True)
class Data:
    """Evaluated data, and the training data of the members."""

    folder: Folder
    sets: Mapping[str, tuple[Pair, ...]]
    """Lines of each set by name."""

    @property
    def fingerprint(self) -> str:
        """Fingerprint of all sets in their order."""
        return Corpus(tuple(chain.from_iterable(self.sets.values()))).fingerprint


def folder(root: Path | None = None) -> Path:
    """Return the folder of the files.

    Raises:
        LookupError: the files are missing.
    """
    return real_data("translation", f"train/{VALID_FILES[0]}", root)


def read(source: Path, plan: Plan) -> Data:
    """Read all sets.

    Raises:
        BadFile: a file cannot be read.
        ValueError: a side of a test set has another number of lines.
    """
    pairs = corpus.read([source / "train" / name for name in TRAIN_FILES]).without(WITHOUT)
    valid = corpus.read([source / "train" / name for name in VALID_FILES]).without(WITHOUT)
    away = Corpus((*valid.of_domains(SHIFTED).pairs, *pairs.of_domains(SHIFTED).pairs))
    known = Folder(pairs.of_domains(TRAINED), valid.of_domains(TRAINED), away, UNSTATED)
    held = {f"held-{name}": known.judged[f"held out: {name}"].pairs for name in TRAINED}
    shifted = {name: known.judged[f"shifted: {name}"].pairs for name in SHIFTED}
    sets = {name: capped(lines, plan.cap) for name, lines in (held | shifted).items()}
    sets |= {name: capped(lines, plan.public) for name, lines in public(source).items()}
    both = [
        capped(list(chain.from_iterable(sets[set_name] for set_name in part)), plan.compared // 2)
        for part in (HELD, SHIFTED)
    ]
    calibrating = capped(known.calibration.pairs, 2 * plan.cap)
    return Data(known, {**sets, CALIBRATION: calibrating, COMPARED: (*both[0], *both[1])})


def check_trained_on(members: Path, known: Folder) -> None:
    """Check that the members were trained on these pairs.

    Raises:
        ValueError: the members were trained on other pairs, so that pairs held out here may not be.
    """
    record = json.loads((members / "data" / DESCRIPTION).read_text())
    for name, pairs in (("corpus", known.train), ("dev", known.valid)):
        if record.get(name) != pairs.fingerprint:
            raise ValueError(
                f"{members} was trained with a {name} of fingerprint {record.get(name)}, not {pairs.fingerprint}: what "
                "is held out here may be none of its own"
            )


def public(source: Path) -> dict[str, list[Pair]]:
    """Return public test sets by name, WMT by domain, without the line whose only purpose is to be left out."""
    sets: dict[str, list[Pair]] = {}
    wmt22 = source / "wmt22"
    for pair in _lines(wmt22, list(text_lines(wmt22 / "domains.txt")), "wmt22"):
        sets.setdefault(f"wmt22-{pair.domain}", []).append(pair)
    for name, directory in ((NTREX, "ntrex128"), (TATOEBA, "tatoeba1000")):
        sets[name] = _lines(source / directory, None, name)
    wmt24 = source / "wmt24"
    domains = [line.partition("\t")[0] for line in text_lines(wmt24 / "domains.tsv")]
    for pair in _lines(wmt24, domains, "wmt24"):
        if pair.domain != CANARY:
            sets.setdefault(f"wmt24-{pair.domain}", []).append(pair)
    return sets


def _lines(directory: Path, domains: Sequence[str] | None, name: str) -> list[Pair]:
    english, russian = (list(text_lines(directory / side)) for side in ("src.en.txt", "ref.ru.txt"))
    each = domains or [name] * len(english)
    if not len(english) == len(russian) == len(each):
        raise ValueError(f"{directory}: {len(english)} sources, {len(russian)} references, {len(each)} domains")
    return [Pair(*fields) for fields in zip(each, [f"{name}:"] * len(english), english, russian, strict=True)]


SHARE = 0.75
"""Least share of the different words of the longer of two sentences."""
_WORD = re.compile(r"\w+(?:'\w+)?")


def near(sentences: Sequence[str], training: Sequence[str], share: float = SHARE) -> NDArray[np.bool_]:
    """Return whether each sentence [N] has a near training sentence.

    Two sentences are near if they share at least ``share`` of the different words of the longer one, in any case and
    order.
    """
    known = [_words(text) for text in training]
    places: defaultdict[str, list[int]] = defaultdict(list)
    for place, words in enumerate(known):
        for word in words:
            places[word].append(place)

    def found(sentence: str) -> bool:
        words = _words(sentence)
        # a near sentence has one of any len(words) - enough + 1 of the words: search the rarest
        enough = math.ceil(share * len(words))
        rare = sorted(words, key=lambda word: len(places.get(word, ())))[: len(words) - enough + 1]
        return any(
            len(words & known[place]) >= share * max(len(words), len(known[place]))
            for word in rare
            for place in places.get(word, ())
        )

    return np.array([bool(_words(line)) and found(line) for line in sentences], bool)


def nearness(plan: Plan, name: str, source: Path, parts: Path) -> Piece:
    """Return the job that finds the sentences of a set that are near to a training sentence."""
    target = parts / f"near-{name}.txt"
    return Piece(target.stem, target, partial(_find_near, plan, name, source, target))


def _find_near(plan: Plan, name: str, source: Path, target: Path, tell: Tell) -> None:
    every = read(source, plan)
    training = [pair.english for pair in every.folder.train.pairs]
    sentences = [pair.english for pair in every.sets[name]]
    tell(f"{len(sentences)} sentences against {len(training)}")
    close = [text for text, is_near in zip(sentences, near(sentences, training), strict=True) if is_near]
    write_whole(target, "\n".join(close).encode())


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.lower()))
