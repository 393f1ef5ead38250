"""Translation of the lines of a set by one model, with sentences joined and graphs chosen as in the service."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from itertools import chain
from pathlib import Path

import numpy as np

from models.assessment.text import n_best_gleu
from models.tasks.translation.artefact.ensemble import Ensemble, opened
from models.tasks.translation.data.corpus import Pair
from models.tasks.translation.inference.members import PIECES
from models.tasks.translation.inference.translator import Translation, Translator
from models.tasks.translation.networks import settings
from models.tasks.translation.text.documents import as_one, document
from models.tasks.translation.text.pieces import Pieces
from models.tasks.translation.training import train
from models.uncertainty.sequences import SCORES
from studies.jobs import Piece, Tell
from studies.translation_tables import data
from studies.translation_tables.kept import Doubt, Kept
from studies.translation_tables.plan import ENSEMBLE, EXACT, Model, Plan


@dataclass(frozen=True)
class Tokenisation:
    """Tokenisation of Russian text into tokens separated by spaces."""

    name: str
    words: str
    """Description for the page."""
    of: Callable[[str], str]


WHITESPACE = Tokenisation("whitespace", "what whitespace separates (Moses' script was not there)", str)


def tokenisation() -> Tokenisation:
    """Return Moses' tokenisation if it is installed, else whitespace."""
    try:
        moses = import_module("models.tasks.translation.text.moses")
        import_module("sacremoses")
    except ImportError:
        return WHITESPACE
    return Tokenisation(
        "moses",
        "Moses' on both sides, dashes split, as in the paper",
        lambda text: str(moses.tokenised(text, moses.RUSSIAN)),
    )


def translate(plan: Plan, model: Model, name: str, source: Path, members: Path, target: Path, tell: Tell) -> None:
    """Translate one set by one model.

    Args:
        source: folder of the data.
        members: folder of the training.
    """
    pairs = _data(source, plan).sets[name]
    tell(f"{len(pairs)} lines")
    kept(pairs, _translator(plan, members, model), tell).save(target)


def translatings(plan: Plan, names: Sequence[str], source: Path, members: Path, parts: Path) -> list[Piece]:
    """Return all jobs, the ensemble first, so that every row has results early."""
    own = (data.CALIBRATION, data.COMPARED)
    return [
        Piece(f"{model.name}-{name}", target, partial(translate, plan, model, name, source, members, target))
        for model in plan.models
        for name in names
        if model.name == ENSEMBLE or (name == data.COMPARED if model.name == EXACT else name not in own)
        for target in [part(parts, model.name, name)]
    ]


def part(parts: Path, model: str, name: str) -> Path:
    """Return the file of a set."""
    return parts / model / f"{name}.npz"


def ensemble(plan: Plan, folder: Path) -> Ensemble:
    """Return the finished members.

    Raises:
        ValueError: a member is not finished.
    """
    count = len(Pieces((folder / "data" / PIECES).read_bytes()))
    chosen = settings.with_vocabulary(settings.preset(plan.preset), count)
    return train.assembled(folder, chosen, plan.seeds, preset=plan.preset)


def fingerprint(trained: Ensemble) -> str:
    """Return the first 16 hexadecimal digits of the SHA-256 of the members' weights and the tokeniser."""
    digest = hashlib.sha256()
    for weights in trained.members:
        for name in sorted(weights):
            digest.update(name.encode() + np.ascontiguousarray(weights[name]).tobytes())
    for name in sorted(trained.tokeniser):
        digest.update(trained.tokeniser[name])
    return digest.hexdigest()[:16]


def kept(pairs: Sequence[Pair], translator: Translator, tell: Tell) -> Kept:
    """Translate lines and compare them with their references."""
    translated = lines([pair.english for pair in pairs], translator, tell)
    beam = translator.recipe.beam
    rows = [row for row, line in enumerate(translated) if line is not None and len(line) == beam]
    translations = [translation for row in rows if (translation := translated[row]) is not None]
    if not translations:
        raise ValueError(f"none of {len(pairs)} lines has an English sentence: there is nothing to judge")
    texts = tuple(translation.texts for translation in translations)
    references = [pairs[row].russian for row in rows]
    tokens = tokenisation().of
    values = (
        []
        if translator.single
        else [np.stack([_values(translation)[name] for translation in translations]) for name in SCORES]
    )
    whole = [document(pairs[row].english, translator.fits).whole for row in rows]
    return Kept(
        pairs=tuple(pairs[row] for row in rows),
        texts=texts,
        doubts=tuple(_doubts(translation) for translation in translations),
        score=np.stack([translation.score for translation in translations]),
        values=np.array(values, np.float32).reshape(-1, len(rows), beam),
        gleus=n_best_gleu(
            [tokens(text) for text in references], [[tokens(hypothesis) for hypothesis in many] for many in texts]
        ),
        plain=n_best_gleu(references, texts),
        whole=np.array(whole, bool),
        given=len(pairs),
    )


def lines(texts: Sequence[str], translator: Translator, tell: Tell) -> list[Translation | None]:
    """Return one n-best list per line; None for a line without an English sentence."""
    documents = [document(text, translator.fits) for text in texts]
    sentences = list(chain.from_iterable(parsed.sentences for parsed in documents))
    by_place = dict(translator.translations(sentences, _counted(len(sentences), tell)))
    every: list[Translation | None] = []
    first = 0
    for entry in documents:
        own = [by_place[first + place] for place in range(len(entry.sentences))]
        first += len(own)
        every.append(as_one(entry, own) if any(each.tokens for each in own) else None)
    return every


def _counted(count: int, tell: Tell) -> Callable[[int], None]:
    done = [0]

    def progress(more: int) -> None:
        done[0] += more
        if done[0] // 50 > (done[0] - more) // 50:
            tell(f"{done[0]} of {count} sentences")

    return progress


def _values(translation: Translation) -> dict[str, np.ndarray]:
    assert translation.values is not None
    return dict(translation.values)


def _doubts(translation: Translation) -> tuple[Doubt, ...]:
    if not translation.tokens:
        return ()
    best = translation.tokens[0]
    return tuple(
        (int(start), int(stop), float(total)) for (start, stop), total in zip(best.spans, best.total, strict=True)
    )


@cache
def _data(source: Path, plan: Plan) -> data.Data:
    return data.read(source, plan)


@cache
def _translator(plan: Plan, folder: Path, model: Model) -> Translator:
    trained = ensemble(plan, folder)
    chosen = trained.subset([trained.seeds.index(seed) for seed in model.seeds])
    return opened(chosen, model.precision)
