"""Real pairs of sentences to judge by: held out, of domains that are never trained on, and public test sets.

They lie in ``translation`` of DEMUR_TEST_DATA (default: ../shared/data beside the repository) and are never copied into
the repository; what may be quoted is said of each set.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from benchmarks.translation_tables.plan import Plan, capped
from models.building import UNSTATED
from models.tasks.translation.data import corpus
from models.tasks.translation.data.corpus import Corpus, Pair
from models.tasks.translation.data.lines import text_lines
from models.tasks.translation.data.pairs_folder import Folder
from models.training.training_folder import DESCRIPTION

ROOT = Path(__file__).resolve().parents[2]
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
    """All that is judged, and what the members were trained on."""

    folder: Folder
    sets: Mapping[str, tuple[Pair, ...]]
    """Name of a set to its lines."""

    @property
    def fingerprint(self) -> str:
        """Of all sets in their order."""
        return Corpus(tuple(chain.from_iterable(self.sets.values()))).fingerprint


def folder(given: Path | None = None) -> Path:
    """Where the files are.

    Raises:
        LookupError: they are not there.
    """
    root = given or Path(os.environ.get("DEMUR_TEST_DATA", ROOT.parent / "shared" / "data"))
    found = root / "translation"
    if not (found / "train" / VALID_FILES[0]).is_file():
        raise LookupError(f"{found} has no train/{VALID_FILES[0]}: set DEMUR_TEST_DATA to the folder of real data")
    return found


def read(source: Path, plan: Plan) -> Data:
    """All sets.

    Raises:
        BadFile: one that cannot be read.
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
        capped(list(chain.from_iterable(sets[one] for one in part)), plan.compared // 2) for part in (HELD, SHIFTED)
    ]
    calibrating = capped(known.calibration.pairs, 2 * plan.cap)
    return Data(known, {**sets, CALIBRATION: calibrating, COMPARED: (*both[0], *both[1])})


def check_trained_on(members: Path, known: Folder) -> None:
    """
    Raises:
        ValueError: the members were trained on other pairs, so that what is held out here may not be.
    """
    found = json.loads((members / "data" / DESCRIPTION).read_text())
    for name, pairs in (("corpus", known.train), ("dev", known.valid)):
        if found.get(name) != pairs.fingerprint:
            raise ValueError(
                f"{members} was trained with a {name} of fingerprint {found.get(name)}, not {pairs.fingerprint}: what "
                "is held out here may be none of its own"
            )


def public(source: Path) -> dict[str, list[Pair]]:
    """Public test sets by name, WMT by domain; without the line that asks for nothing but to be left out."""
    found: dict[str, list[Pair]] = {}
    wmt22 = source / "wmt22"
    for pair in _lines(wmt22, list(text_lines(wmt22 / "domains.txt")), "wmt22"):
        found.setdefault(f"wmt22-{pair.domain}", []).append(pair)
    for name, directory in ((NTREX, "ntrex128"), (TATOEBA, "tatoeba1000")):
        found[name] = _lines(source / directory, None, name)
    wmt24 = source / "wmt24"
    domains = [line.partition("\t")[0] for line in text_lines(wmt24 / "domains.tsv")]
    for pair in _lines(wmt24, domains, "wmt24"):
        if pair.domain != CANARY:
            found.setdefault(f"wmt24-{pair.domain}", []).append(pair)
    return found


def _lines(directory: Path, domains: Sequence[str] | None, name: str) -> list[Pair]:
    english, russian = (list(text_lines(directory / side)) for side in ("src.en.txt", "ref.ru.txt"))
    each = domains or [name] * len(english)
    if not len(english) == len(russian) == len(each):
        raise ValueError(f"{directory}: {len(english)} sources, {len(russian)} references, {len(each)} domains")
    return [Pair(*one) for one in zip(each, [f"{name}:"] * len(english), english, russian, strict=True)]
