"""A folder of made-up pairs laid out as the real one, members trained on it for seconds, and made-up translations."""

import gzip
from pathlib import Path

import numpy as np

from models.tasks.translation.data.corpus import Pair
from models.tasks.translation.data.examples import Examples
from models.tasks.translation.data.pairs_folder import Folder
from models.tasks.translation.networks import settings
from models.tasks.translation.training import train
from models.uncertainty.sequences import SCORES
from studies.translation_tables import data
from studies.translation_tables.kept import Kept

DOMAINS = (*data.TRAINED, *data.SHIFTED, "ui")
_ENGLISH, _RUSSIAN = (
    ("ba", "lo", "mi", "ne", "ru", "sta", "ti", "vo"),
    ("ба", "ло", "ми", "не", "ру", "ста", "ти", "во"),
)
CANARY = "made canary line"


def sentence(random: np.random.Generator) -> tuple[str, str]:
    """Words of random syllables, the same ones in both alphabets."""
    words = [random.integers(len(_ENGLISH), size=random.integers(1, 4)) for _ in range(random.integers(3, 8))]
    english, russian = (
        " ".join("".join(table[letter] for letter in word) for word in words) for table in (_ENGLISH, _RUSSIAN)
    )
    return f"{english.capitalize()}.", f"{russian.capitalize()}."


def folder(root: Path, train_lines: int = 240, valid_lines: int = 60) -> Path:
    """A ``translation`` folder under ``root`` with all files that are read."""
    random = np.random.default_rng(0)
    target = root / "translation"
    for name, count in (
        (data.TRAIN_FILES[0], train_lines),
        (data.TRAIN_FILES[1], train_lines),
        (data.VALID_FILES[0], valid_lines),
    ):
        rows = [
            (domain, f"{'xquad' if domain == 'ui' else 'made'}:{name}") for domain in DOMAINS for _ in range(count // 2)
        ]
        lines = ["domain\tsource\ten\tru", *("\t".join((*row, *sentence(random))) for row in rows)]
        path = target / "train" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(("\n".join(lines) + "\n").encode(), mtime=0))
    for name, domains in (("wmt22", data.WMT22), ("wmt24", data.WMT24), ("ntrex128", ()), ("tatoeba1000", ())):
        _public(target / name, [domain.partition("-")[2] for domain in domains], random)
    return target


def _public(path: Path, domains: list[str], random: np.random.Generator) -> None:
    labels = [domain for domain in domains for _ in range(4)] or [""] * 6
    pairs = [sentence(random) for _ in labels]
    pairs[1] = tuple(f"{first} {other}" for first, other in zip(pairs[1], pairs[2], strict=True))  # two sentences
    if path.name == "wmt24":
        labels, pairs = [data.CANARY, *labels], [(CANARY, CANARY), *pairs]
    path.mkdir()
    for name, side in (("src.en.txt", 0), ("ref.ru.txt", 1)):
        (path / name).write_text("".join(f"{pair[side]}\n" for pair in pairs))
    if path.name == "wmt22":
        (path / "domains.txt").write_text("".join(f"{label}\n" for label in labels))
    if path.name == "wmt24":
        (path / "domains.tsv").write_text("".join(f"{label}\tdocument\n" for label in labels))


def members(path: Path, known: Folder, seeds: tuple[int, ...]) -> Path:
    """A training of the preset ``tiny``, finished."""
    import torch

    torch.set_num_threads(1)  # several on shared cores wait for each other
    chosen = train.prepare(known.train, known.valid, settings.preset("tiny"), path)
    both = [Examples.load(path / "data" / name) for name in (train.TRAIN, train.DEV)]
    fingerprint = " ".join(examples.fingerprint for examples in both)
    for seed in seeds:
        train.train_member(path, chosen, fingerprint, "cpu", seed, lambda share, what: None)
    return path


def kept(count: int = 40, *, hypotheses: int = 5, single: bool = False, seed: int = 0) -> Kept:
    """Lines whose error grows with their uncertainty, noise apart."""
    random = np.random.default_rng(seed)
    doubt = random.uniform(0.2, 2, count)
    score = -(doubt[:, None] + np.sort(random.uniform(0, 0.3, (count, hypotheses)))).astype(np.float32)
    values = np.broadcast_to(-score, (len(SCORES), count, hypotheses)) + random.uniform(0, 1, (len(SCORES), count, 1))
    values[SCORES.index("scr_pe")] = -score
    gleus = np.clip(100 - 45 * doubt[:, None] + random.normal(0, 8, (count, hypotheses)), 0, 100)
    both = [sentence(random) for _ in range(count)]
    return Kept(
        pairs=tuple(Pair("made", "made:", f"{english} {row}", russian) for row, (english, russian) in enumerate(both)),
        texts=tuple(
            (f"{russian} {row}", *(f"{russian} {row} {k}" for k in range(1, hypotheses)))
            for row, (_, russian) in enumerate(both)
        ),
        doubts=tuple(((0, 2, float(value)), (2, 9, 0.1)) for value in doubt),
        score=score,
        values=np.empty((0, count, hypotheses), np.float32) if single else values.astype(np.float32),
        gleus=gleus,
        plain=gleus / 2,
        whole=np.arange(count) % 5 > 0,
        given=count + 2,
    )
