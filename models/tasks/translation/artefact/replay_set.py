"""Replay sets of translation: English sentences, decoded in batches as in serving."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from models import npz, replay
from models.artefact import Artefact
from models.building import UNSTATED, Provenance
from models.executors.device import CPU, Device
from models.manifest import Manifest
from models.replay import Arrays, Scores
from models.tasks.translation.data.corpus import Corpus
from models.tasks.translation.inference import members
from models.tasks.translation.inference.decoding.decoder import search
from models.tasks.translation.inference.translator import SourceSentence, Translator, predictive
from models.tasks.translation.spec import HEADS, HYPOTHESES

UNITS = 400
"""Number of sentences in a set, if there are enough."""
_TEXT, _ENDS = "text", "ends"


def encode(known: Sequence[str], shifted: Sequence[str], units: int = UNITS) -> bytes:
    """Return a file of inputs: in-domain and shifted sentences, drawn and shuffled with a fixed seed."""
    inside, outside = replay.chosen(len(known), len(shifted), units)
    picked = [known[at] for at in inside.tolist()] + [shifted[at] for at in outside.tolist()]
    encoded = [picked[at].encode() for at in replay.shuffled(len(picked)).tolist()]
    return npz.encode(
        {
            _TEXT: np.frombuffer(b"".join(encoded), np.uint8),
            _ENDS: np.cumsum([len(sentence) for sentence in encoded], dtype=np.uint32),
        }
    )


def decoded(arrays: Arrays) -> list[str]:
    """Return the sentences of a file of inputs.

    Raises:
        BadArrays: ends do not ascend to the length of the text, or bytes are not UTF-8.
    """
    text = replay.array(arrays, _TEXT, "uint8", None).tobytes()
    ends = replay.array(arrays, _ENDS, "uint32", None).astype(np.int64)
    starts = np.r_[0, ends[:-1]] if len(ends) else ends
    if not len(ends) or int(ends[-1]) != len(text) or (ends <= starts).any():
        raise npz.BadArrays(f"{_ENDS!r} do not ascend from above 0 to the {len(text)} bytes of the text")
    try:
        return [text[start:end].decode() for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
    except UnicodeDecodeError as error:
        raise npz.BadArrays(f"a sentence is not UTF-8: {error}") from error


def attached(
    artefact: Artefact,
    translator: Translator,
    calibration: Corpus | None,
    judge: Mapping[str, Corpus],
    provenance: Provenance,
    *,
    device: Device = CPU,
) -> Artefact:
    """Attach sentences of the calibration data, and others, as the replay set.

    Without any, return the artefact unchanged.
    """
    known = usable([pair.english for pair in calibration.pairs], translator) if calibration is not None else []
    if not known:
        return artefact
    others = usable([pair.english for corpus in judge.values() for pair in corpus.pairs], translator)
    seen = set(known)
    return replay.attach(
        artefact,
        encode(known, [text for text in others if text not in seen]),
        replay.units_of(provenance),
        device=device,
    )


def of_files(artefact: Artefact, directory: Path) -> Artefact:
    """Attach valid and shifted sentences of a folder of pairs (``pairs_folder``) as the replay set.

    Raises:
        BadFile, OSError, ValueError: a file is missing or cannot be read.
    """
    from models.tasks.translation.data import pairs_folder

    folder = pairs_folder.read(directory)
    translator = members.translator(artefact)
    return attached(artefact, translator, folder.calibration, folder.judged, UNSTATED)


def usable(sentences: Sequence[str], translator: Translator) -> list[str]:
    """Return the distinct sentences that are English and short enough to be translated whole."""
    return [text for text in dict.fromkeys(sentences) if translator.fits(text) and translator.sentence(text).english]


def replayer(artefact: Artefact, arrays: Arrays, device: Device) -> Sentences:
    """Return the replayer of a file of inputs.

    Raises:
        BadArrays: see ``decoded``; or the artefact does not translate a sentence whole.
        ArtefactError, ProviderUnavailable: the members cannot be run.
    """
    texts = decoded(arrays)
    translator = members.translator(artefact, device=device)
    fitting = set(usable(texts, translator))
    if odd := [text for text in texts if text not in fitting]:
        raise npz.BadArrays(f"{odd[0][:60]!r} is not English, or too long to be translated whole")
    return Sentences(artefact.manifest, translator, tuple(map(translator.sentence, texts)))


@dataclass(frozen=True)
class Sentences:
    """Replayer of sentences: finished sentences leave a batch, and waiting ones join it."""

    manifest: Manifest
    translator: Translator
    sentences: tuple[SourceSentence, ...]

    @property
    def units(self) -> int:
        """See ``Replayer``."""
        return len(self.sentences)

    @property
    def most_batch(self) -> int:
        """See ``Replayer``."""
        return self.translator.recipe.width

    def __call__(self, first: int, count: int, batch: int) -> Scores:
        """See ``Replayer``."""
        replay.passes(self.units, first, count, batch)  # validates the arguments
        sources = (self.translator.source(place, self.sentences[place]) for place in range(first, first + count))
        translations = {
            place: self.translator.translation(self.sentences[place], hypotheses)
            for place, hypotheses in search(self.translator.decoder, sources, width=min(batch, self.most_batch))
        }
        statistics = predictive([translations[place] for place in range(first, first + count)])
        return replay.scored(HEADS, self.manifest, {HYPOTHESES.name: statistics})
