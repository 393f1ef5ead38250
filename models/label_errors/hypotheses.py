"""Label rule for texts: the expected GLEU of an n-best list against a reference."""

from collections import defaultdict
from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from models.agreement.relation import Relation
from models.assessment.text import egleu_error, gleu, n_best_gleu, n_best_weights
from models.head import Head
from models.label_errors.values import BadLabel, shown
from models.predictive import Sequences

_MOST_BYTES = 1 << 20
_List = tuple[tuple[str, ...], tuple[float, ...]]
_DECODER = msgspec.msgpack.Decoder(_List)


class ExpectedGleuError:
    """Expected GLEU error of an n-best list.

    Evidence: MessagePack of ``[[text, ...], [confidence, ...]]``; label: UTF-8 text.

    Confidences are exp(score), normalised over the list; a single text has confidence 1.
    """

    relation: Relation | None = "overlap"
    largest = 100.0

    def __init__(self, head: Head) -> None:
        self._head = head

    def evidence(self, predictive: Sequences, units: NDArray[np.intp]) -> list[bytes]:
        """Return the evidence of units.

        Raises:
            ValueError: no texts, or another number of texts than of scores.
        """
        if predictive.texts is None or len(predictive.texts) != len(predictive):
            raise ValueError(f"evidence of {self._head.name} needs the texts of {len(predictive)} units")
        scores = np.asarray(predictive.score, np.float64)
        packed = []
        for unit in units.tolist():
            texts, own = tuple(predictive.texts[unit]), scores[unit : unit + 1]
            if len(texts) != own.shape[1]:
                raise ValueError(f"unit {unit} has {len(texts)} texts and {own.shape[1]} scores; one each is needed")
            packed.append(msgspec.msgpack.encode((texts, tuple(_confidences(own).tolist()))))
        return packed

    def label(self, value: object) -> bytes:
        if not isinstance(value, str) or not value.split():
            raise BadLabel(
                f"{shown(value)} is no label of {self._head.name}; needed: a text with a token ({self._head.label})"
            )
        try:
            content = value.encode()
        except UnicodeEncodeError as error:
            raise BadLabel(f"the text is no Unicode text at character {error.start}; send UTF-8") from error
        if len(content) > _MOST_BYTES:
            raise BadLabel(f"the text has {len(content)} bytes; at most {_MOST_BYTES} are taken")
        return content

    def value(self, label: bytes) -> str:
        return label.decode()

    def errors(self, evidence: Sequence[bytes], labels: Sequence[bytes]) -> NDArray[np.float64]:
        lists = [_DECODER.decode(packed) for packed in evidence]
        errors = np.full(len(lists), np.nan)
        by_length: defaultdict[int, list[int]] = defaultdict(list)
        for index, (texts, confidences) in enumerate(lists):
            if texts and np.isfinite(confidences).all():
                by_length[len(texts)].append(index)
        for rows in by_length.values():
            gleus = n_best_gleu([labels[row].decode() for row in rows], [lists[row][0] for row in rows])
            errors[rows] = egleu_error(gleus, np.array([lists[row][1] for row in rows]))
        return errors

    def prediction(self, evidence: bytes) -> dict[str, object]:
        """Return ``{"texts": [...], "confidences": [...]}``, the most confident first; None for unknown confidences."""
        texts, confidences = _DECODER.decode(evidence)
        order = sorted(
            range(len(texts)), key=lambda index: -confidences[index] if np.isfinite(confidences[index]) else 0
        )
        return {
            "texts": [texts[index] for index in order],
            "confidences": [confidences[index] if np.isfinite(confidences[index]) else None for index in order],
        }

    def difference(self, one: bytes, other: bytes) -> float:
        """Return 100 % less the mean of both GLEUs, each text once the reference."""
        if one == other:
            return 0.0
        texts = one.decode(), other.decode()
        return 100.0 - (gleu(texts[0], texts[1]) + gleu(texts[1], texts[0])) / 2


def _confidences(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the confidences [H] of one list [1, H]; NaN if a score is not finite."""
    if scores.shape[1] == 1:
        return np.ones(1)
    if not np.isfinite(scores).all():
        return np.full(scores.shape[1], np.nan)
    return np.asarray(n_best_weights(-scores)[0])
