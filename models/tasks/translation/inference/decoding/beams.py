"""Batched beam search for ensembles, as in the released code (fairseq 0.7).

Hypotheses are ranked by the product of expectations: the sum of logarithms of members' mean probabilities. A hypothesis
that ends is kept if its end is among the best ``beam`` continuations of its sentence; a sentence is done when it has
``beam`` of them. Beams are immutable: every step returns new ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.tasks.translation.text.vocabulary import END
from models.uncertainty.sequences import RunningScores
from models.uncertainty.tokens import TokenUncertainty


@dataclass(frozen=True)
class Rules:
    """Rules of a search; defaults are those of the released baselines.

    Raises:
        ValueError: a number is too small.
    """

    beam: int = 5
    """Number of hypotheses per sentence during the search and in its result."""
    longest: int = 201
    """Largest number of tokens of a hypothesis with its end; fairseq counts 200 without the end."""
    longest_factor: float = 0.0
    """Further limit, if not 0: this factor times the tokens of the sentence, plus ten."""
    marks: range = range(0)
    """Tokens that stand for literals. A hypothesis has each mark of its sentence exactly once, at its very end if not
    before; if the length limit leaves too little room, as many as possible.
    """
    forbidden: tuple[int, ...] = ()
    """Tokens that are never generated."""

    def __post_init__(self) -> None:
        if self.beam < 1 or self.longest < 2 or self.longest_factor < 0:
            raise ValueError(f"{self}: beam is at least 1, longest at least 2, longest_factor not negative")

    def most(self, source: int) -> int:
        """Return the largest number of tokens of a hypothesis for a sentence of ``source`` tokens.

        Both include the end of sentence.
        """
        if not self.longest_factor:
            return self.longest
        return min(self.longest, int(self.longest_factor * source) + 10)


Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class MemberOutputs:
    """Output of the members for the next tokens of R hypotheses."""

    candidates: Integers
    """Likeliest tokens that are not special, [R, k]."""
    log_probabilities: Floats
    """Log-probabilities of ``candidates`` for each member, nats [M, R, k]."""
    special: Floats
    """Log-probabilities of tokens 0 to n - 1 for each member, nats [M, R, n]."""
    uncertainty: TokenUncertainty
    """Uncertainties of the step, [R] each."""


@dataclass(frozen=True)
class Hypothesis:
    """Translation of a sentence, in tokens."""

    tokens: Integers
    """Tokens with the end of sentence, [L]."""
    score: float
    """Log-probability under PE per token, nats."""
    scores: Mapping[str, float]
    """The 19 released scores; see ``uncertainty.sequences.SCORES``."""
    log_probabilities: Floats
    """Log-probability of each token under PE, nats [L]."""
    values: Floats
    """Uncertainties of the steps in the order of ``TOKEN_VALUES``, nats [9, L]."""


@dataclass(frozen=True)
class Beams:
    """Beams of S sentences with B hypotheses each; R = S B rows, with those of a sentence consecutive."""

    rules: Rules
    names: tuple[Any, ...]
    """Identifiers of the sentences, [S]."""
    most: Integers
    """Largest number of tokens of a hypothesis, [S]."""
    missing: NDArray[np.bool_]
    """Marks that a hypothesis has not generated yet, [R, marks]."""
    tokens: Integers
    """Tokens [R, t], right-aligned; only the last ``lengths`` of a row are valid."""
    logs: Floats
    """Log-probabilities of tokens under PE, [R, t]."""
    values: Floats
    """Uncertainties of steps, [R, 9, t]."""
    running: RunningScores
    """Running scores of all rows."""
    ended: tuple[tuple[Hypothesis, ...], ...]
    """Finished hypotheses, [S] tuples."""

    @classmethod
    def start(
        cls, rules: Rules, members: int, names: Sequence[Any], lengths: Sequence[int], marks: Sequence[int]
    ) -> Beams:
        """Return beams before the first token.

        Args:
            lengths: numbers of tokens of the sentences, with their ends.
            marks: numbers of literals of the sentences, at most ``len(rules.marks)``.
        """
        count, rows = len(names), len(names) * rules.beam
        most = np.array([rules.most(length) for length in lengths], np.int64)
        missing = np.arange(len(rules.marks)) < np.repeat(np.array(marks, np.int64), rules.beam)[:, None]
        return cls(
            rules,
            tuple(names),
            most,
            missing,
            np.empty((rows, 0), np.int64),
            np.empty((rows, 0)),
            np.empty((rows, 9, 0)),
            RunningScores.start(members, rows),
            ((),) * count,
        )

    def __len__(self) -> int:
        return len(self.names)

    @property
    def lengths(self) -> Integers:
        """Number of tokens so far, [R]."""
        return self.running.lengths.astype(np.int64)

    @property
    def last(self) -> Integers:
        """Previous token, [R]; initially the end of sentence."""
        if not self.tokens.shape[1]:
            return np.full(len(self.tokens), END, np.int64)
        return np.where(self.lengths > 0, self.tokens[:, -1], END)

    def rows(self, sentences: Integers) -> Integers:
        """Return the rows of some sentences."""
        beam = self.rules.beam
        return np.asarray((sentences[:, None] * beam + np.arange(beam)).ravel())

    def take(self, sentences: Integers) -> Beams:
        """Return the beams of some sentences, in that order."""
        rows = self.rows(sentences)
        return replace(
            self._rows(rows),
            names=tuple(self.names[number] for number in sentences),
            most=self.most[sentences],
            ended=tuple(self.ended[number] for number in sentences),
        )._trimmed()

    def _rows(self, rows: Integers) -> Beams:
        return replace(
            self,
            missing=self.missing[rows],
            tokens=self.tokens[rows],
            logs=self.logs[rows],
            values=self.values[rows],
            running=self.running.take(rows),
        )

    def _trimmed(self) -> Beams:
        extra = self.tokens.shape[1] - int(self.lengths.max(initial=0))
        if not extra:
            return self
        return replace(self, tokens=self.tokens[:, extra:], logs=self.logs[:, extra:], values=self.values[:, :, extra:])

    def step(self, outputs: MemberOutputs) -> tuple[Beams, Integers]:
        """Extend all hypotheses by one token.

        Returns:
            The new beams, and the row that each of their rows continues, [R].

        Raises:
            ValueError: marks or forbidden tokens are not in ``special``.
        """
        full, last = outputs.special.shape[2], max((*self.rules.marks, *self.rules.forbidden, END))
        if last >= full:
            raise ValueError(f"tokens below {full} are told in full; marks and forbidden ones go up to {last}")
        beam, count = self.rules.beam, len(self)
        logs = np.concatenate([outputs.special, outputs.log_probabilities], axis=2)  # [M, R, n + k]
        tokens = np.concatenate(
            [np.broadcast_to(np.arange(outputs.special.shape[2]), outputs.special.shape[1:]), outputs.candidates],
            axis=1,
        )
        pe = np.logaddexp.reduce(logs, axis=0) - np.log(len(logs))
        totals = np.where(self._barred(tokens), -np.inf, self.running.log_prob[:, None] + pe)
        width = totals.shape[1]
        first = (self.lengths == 0) & (np.arange(len(totals)) % beam > 0)
        totals[first] = -np.inf  # hypotheses of a new sentence are equal: only the first one is extended
        flat = totals.reshape(count, beam * width)
        best = np.argsort(-flat, axis=1, kind="stable")[:, : 2 * beam]
        possible = np.isfinite(np.take_along_axis(flat, best, axis=1))
        rows = best // width + np.arange(count)[:, None] * beam
        places = best % width
        chosen = tokens[rows, places]
        ends = (chosen == END) & possible
        ended = self._ended(ends, rows, places, logs, pe, outputs.uncertainty)
        goes_on = ~ends & possible
        order = np.argsort(~goes_on, axis=1, kind="stable")[:, :beam]  # the best that do not end
        exists = np.take_along_axis(goes_on, order, axis=1)
        order = np.where(exists, order, order[:, :1])
        parents = np.take_along_axis(rows, order, axis=1).ravel()
        where = np.take_along_axis(places, order, axis=1).ravel()
        after = self._grown(parents, where, tokens, logs, pe, outputs.uncertainty)
        if not exists.all():  # fewer than ``beam`` continue: the other rows repeat the best and must not count
            log_prob = np.where(exists.ravel(), after.running.log_prob, -np.inf)
            after = replace(after, running=replace(after.running, log_prob=log_prob))
        stopped = ~exists.any(axis=1)
        if stopped.any():  # nothing can follow: only the finished hypotheses remain
            after = replace(after, most=np.where(stopped, 0, after.most))
        return replace(after, ended=ended), parents

    @property
    def done(self) -> NDArray[np.bool_]:
        """Mask of sentences that have all their hypotheses, [S]."""
        full = np.array([len(hypotheses) >= self.rules.beam for hypotheses in self.ended], bool)
        return full | (self.most <= self.lengths[:: self.rules.beam])

    def _barred(self, tokens: Integers) -> NDArray[np.bool_]:
        """Return the mask of continuations that are not allowed, [R, n + k]."""
        lengths, marks = self.lengths, self.rules.marks
        room = np.repeat(self.most, self.rules.beam) - lengths - 1  # before the end of sentence
        missing = self.missing.sum(axis=1)
        ends = tokens == END
        barred = np.isin(tokens, self.rules.forbidden)
        if len(marks):
            is_mark = (tokens >= marks.start) & (tokens < marks.stop)
            number = np.where(is_mark, tokens - marks.start, 0)
            barred |= is_mark & ~np.take_along_axis(self.missing, number, axis=1)
            due = (missing > 0) & (missing >= room)
            barred |= due[:, None] & ~is_mark & ~ends
        barred |= ends & (((lengths < 1) | (missing > 0)) & (room > 0))[:, None]
        barred |= ~ends & (room <= 0)[:, None]
        return barred

    def _ended(
        self,
        ends: NDArray[np.bool_],
        rows: Integers,
        places: Integers,
        logs: Floats,
        pe: Floats,
        step: TokenUncertainty,
    ) -> tuple[tuple[Hypothesis, ...], ...]:
        """Return the finished hypotheses with those of this step; ends count among the best ``beam`` continuations."""
        sentence, rank = np.nonzero(ends[:, : self.rules.beam])
        if not len(sentence):
            return self.ended
        row, place = rows[sentence, rank], places[sentence, rank]
        whole = self._rows(row)._grown(np.arange(len(row)), place, None, logs[:, row], pe[row], step.take(row))
        scores = whole.running.scores()
        ended = [list(hypotheses) for hypotheses in self.ended]
        lengths = whole.lengths
        for number, owner in enumerate(sentence.tolist()):
            if len(ended[owner]) < self.rules.beam:
                length = int(lengths[number])
                tokens = whole.tokens[number, whole.tokens.shape[1] - length :]
                ended[owner].append(
                    Hypothesis(
                        tokens,
                        float(whole.running.score[number]),
                        {name: float(values[number]) for name, values in scores.items()},
                        whole.logs[number, whole.logs.shape[1] - length :],
                        whole.values[number, :, whole.values.shape[2] - length :],
                    )
                )
        return tuple(map(tuple, ended))

    def _grown(
        self,
        parents: Integers,
        places: Integers,
        tokens: Integers | None,
        logs: Floats,
        pe: Floats,
        step: TokenUncertainty,
    ) -> Beams:
        """Return some rows, each with one more token; if ``tokens`` is None, the end of sentence."""
        appended = np.full(len(parents), END, np.int64) if tokens is None else tokens[parents, places]
        before = self if tokens is None else self._rows(parents)
        values = step.take(parents)
        marks = self.rules.marks
        missing = before.missing
        if len(marks):
            missing = missing & (np.arange(marks.start, marks.stop) != appended[:, None])
        return replace(
            before,
            missing=missing,
            tokens=np.concatenate([before.tokens, appended[:, None]], axis=1),
            logs=np.concatenate([before.logs, pe[parents, places][:, None]], axis=1),
            values=np.concatenate([before.values, np.stack(values.arrays(), axis=1)[:, :, None]], axis=2),
            running=before.running.add(values, logs[:, parents, places]),
        )


def joined(parts: Sequence[Beams]) -> Beams:
    """Concatenate the sentences of several beams; the rules are those of the first."""
    if len(parts) == 1:
        return parts[0]
    width = max(part.tokens.shape[1] for part in parts)

    def wide(array: NDArray[Any]) -> NDArray[Any]:
        pad = [(0, 0)] * (array.ndim - 1) + [(width - array.shape[-1], 0)]
        return np.pad(array, pad)

    runs = [part.running for part in parts]
    running = RunningScores(
        **{field.name: np.concatenate([getattr(run, field.name) for run in runs], axis=-1) for field in fields(runs[0])}
    )
    return replace(
        parts[0],
        names=tuple(name for part in parts for name in part.names),
        most=np.concatenate([part.most for part in parts]),
        missing=np.concatenate([part.missing for part in parts]),
        tokens=np.concatenate([wide(part.tokens) for part in parts]),
        logs=np.concatenate([wide(part.logs) for part in parts]),
        values=np.concatenate([wide(part.values) for part in parts]),
        running=running,
        ended=tuple(hypotheses for part in parts for hypotheses in part.ended),
    )
