"""Translations as fairseq's ``generate.py`` prints them with ``--nbest`` and, for ensembles, ``--compute-uncertainty``.

The text before the tab is the kind of a line: ``S-id`` source, ``T-id`` reference, and for every hypothesis ``H-id``
score and text, ``P-id`` log-probabilities of its tokens, ``SU-id`` the 19 scores in the released order. Scores are
natural logarithms divided by length, texts stay in Moses' tokens. Other lines are log messages.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from models.evaluation.unit_errors import BadFile
from models.tasks.translation.data.lines import text_lines
from models.training.training_folder import write_whole
from models.uncertainty.sequences import SCORES


@dataclass(frozen=True)
class Hypothesis:
    """Translation of a sentence."""

    text: str
    """Tokens separated by spaces, or any text of one line."""
    score: float
    """Log-probability under PE over the length with the end of sentence, nats."""
    token_log_probabilities: tuple[float, ...] = ()
    """Log-probability of each token under PE, with the end of sentence, nats."""
    scores: Mapping[str, float] = field(default_factory=dict)
    """The 19 scores by the names of ``SCORES``; empty for single models."""


@dataclass(frozen=True)
class Generated:
    """A sentence with its translations, the best first."""

    id: int
    source: str | None
    reference: str | None
    hypotheses: tuple[Hypothesis, ...]


def lines(sentences: Iterable[Generated]) -> Iterator[str]:
    """Yield lines without line ends; log-probabilities of tokens have four decimals, as fairseq prints them.

    Raises:
        ValueError: a text has several lines or tabs, a sentence has no hypothesis, or only some of the 19 scores exist.
    """
    for sentence in sentences:
        if sentence.source is not None:
            yield f"S-{sentence.id}\t{_line(sentence.source)}"
        if sentence.reference is not None:
            yield f"T-{sentence.id}\t{_line(sentence.reference)}"
        if not sentence.hypotheses:
            raise ValueError(f"sentence {sentence.id} has no hypotheses; at least one is needed")
        for hypothesis in sentence.hypotheses:
            yield f"H-{sentence.id}\t{float(hypothesis.score)!r}\t{_line(hypothesis.text)}"
            if hypothesis.token_log_probabilities:
                yield f"P-{sentence.id}\t{' '.join(f'{value:.4f}' for value in hypothesis.token_log_probabilities)}"
            if hypothesis.scores:
                if missing := [name for name in SCORES if name not in hypothesis.scores]:
                    raise ValueError(
                        f"sentence {sentence.id} has scores without {missing[0]}; all {len(SCORES)} are needed"
                    )
                yield "\t".join((f"SU-{sentence.id}", *(repr(float(hypothesis.scores[name])) for name in SCORES)))


def write(path: Path, sentences: Iterable[Generated]) -> None:
    """Write the lines of ``lines`` to a file."""
    write_whole(path, "".join(f"{line}\n" for line in lines(sentences)).encode())


def _line(text: str) -> str:
    if any(character in text for character in "\n\r\t"):
        raise ValueError(f"{text[:80]!r} has ends of lines or tabs; a sentence is one line")
    return text


def is_generated(path: Path) -> bool:
    """Return whether a hypothesis line is among the first thousand lines of a file, which may be log messages."""
    for number, line in enumerate(text_lines(path)):
        if _LINE.match(_printed(line)) is not None:
            return True
        if number == 1000 or line.startswith("{"):
            break
    return False


_LINE = re.compile(r"(S|T|H|P|D|SU)-(\d{1,18})(?:\t|$)")
_BASE_TWO = math.log(2)


def read(path: Path) -> list[Generated]:
    """Return the sentences of a file in their order, each with its hypotheses.

    fairseq from 0.9 on, recognised by ``D`` lines, prints logarithms of base 2; they are converted to natural ones.

    Raises:
        BadFile: the file cannot be read, a sentence has no hypothesis, a score is not finite, the lines of scores do
            not match the hypotheses, a source or reference occurs twice, or a hypothesis follows the end of its
            sentence.
    """
    sentences: dict[int, _Sentence] = {}
    detokenised = False
    last: int | None = None
    for number, line in enumerate(text_lines(path), 1):
        printed = _printed(line)
        kind = _LINE.match(printed)
        if kind is None:
            continue
        place = f"{path}, line {number}"
        key, rest = int(kind[2]), printed[kind.end() :]
        if key != last and key in sentences:
            raise BadFile(
                f"{place}: sentence {key} began in line {sentences[key].line}, and others came since; sets with ids of "
                "their own are read from a folder (results-test.txt and results-test1.txt)"
            )
        last = key
        sentence = sentences.setdefault(key, _Sentence(key, number))
        if kind[1] == "D":
            detokenised = True
        elif kind[1] in ("S", "T"):
            sentence.add_text(place, kind[1], rest)
        elif kind[1] == "H":
            sentence.add_hypothesis(place, rest)
        else:
            sentence.add_values(place, kind[1], rest)
    if not any(entry.hypotheses for entry in sentences.values()):
        raise BadFile(f"{path} has no hypotheses (lines of H-id, a score and a text)")
    base = _BASE_TWO if detokenised else 1.0
    return [entry.whole(path, base) for entry in sentences.values()]


def _printed(line: str) -> str:
    """Return a line without text that a progress bar wrote before it."""
    return line.rpartition("\r")[2]


class _Sentence:
    """Partially read sentence."""

    def __init__(self, key: int, line: int) -> None:
        self.key, self.line = key, line
        self.texts: dict[str, str] = {}
        self.hypotheses: list[tuple[float, str]] = []
        self.values: dict[str, list[tuple[float, ...]]] = {"P": [], "SU": []}

    def add_text(self, place: str, kind: str, text: str) -> None:
        if kind in self.texts:
            raise BadFile(f"{place}: {kind}-{self.key} is given twice")
        self.texts[kind] = text

    def add_hypothesis(self, place: str, rest: str) -> None:
        score, _, text = rest.partition("\t")
        self.hypotheses.append((_numbers(place, (score,))[0], text))

    def add_values(self, place: str, kind: str, rest: str) -> None:
        values = self.values[kind]
        if len(values) == len(self.hypotheses):
            raise BadFile(f"{place}: {kind}-{self.key} without a hypothesis (H-{self.key}) before it")
        numbers = _numbers(place, rest.split())
        if kind == "SU" and len(numbers) != len(SCORES):
            raise BadFile(f"{place}: SU-{self.key} has {len(numbers)} values; {len(SCORES)} are needed")
        values += [()] * (len(self.hypotheses) - len(values) - 1)
        values.append(numbers)

    def whole(self, path: Path, base: float) -> Generated:
        if not self.hypotheses:
            raise BadFile(f"{path}, line {self.line}: sentence {self.key} has no hypotheses")
        for kind, values in self.values.items():
            values += [()] * (len(self.hypotheses) - len(values))
            if any(values) and not all(values):
                raise BadFile(
                    f"{path}, line {self.line}: sentence {self.key} has {kind} lines for some hypotheses only"
                )
        hypotheses = (
            Hypothesis(
                text, score * base, tuple(value * base for value in tokens), dict(zip(SCORES, scores, strict=False))
            )
            for (score, text), tokens, scores in zip(self.hypotheses, self.values["P"], self.values["SU"], strict=True)
        )
        return Generated(self.key, self.texts.get("S"), self.texts.get("T"), tuple(hypotheses))


def _numbers(place: str, cells: Sequence[str]) -> tuple[float, ...]:
    numbers = []
    for cell in cells:
        try:
            number = float(cell)
        except ValueError as error:
            raise BadFile(f"{place}: {cell[:40]!r} is no number") from error
        if not math.isfinite(number):
            raise BadFile(f"{place}: a value is {cell}; finite numbers are needed")
        numbers.append(number)
    return tuple(numbers)
