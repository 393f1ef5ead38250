"""Translation task: texts are split into sentences, which are decoded side by side in continuous batches."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.head import Head
from models.tasks.translation.inference.translator import Translation, Translator, none, predictive
from models.tasks.translation.spec import HEADS, HYPOTHESES
from services.ledger.contract import Portion
from services.policy.decision import Shift
from services.request.contract import Done, ItemFailed, Progress, Shared, Steps, Units, Work
from services.runtime.errors import DemurError
from services.tasks.translation import texts
from services.tasks.translation.decoding import Pace, Question, Stepping, Turn, Turned
from services.tasks.translation.request import TranslationRequest
from services.tasks.translation.texts import CallData

ANSWER_BYTES = 16 << 10
"""Approximate memory of a finished sentence, in bytes: hypotheses, scores and tokens."""
_LEAST = 2
"""Minimum number of a request's sentences per lane."""


@dataclass(frozen=True, slots=True)
class SentenceResult:
    """Result of the work on one sentence, besides its statistics."""

    call_data: CallData
    translation: Translation | None
    """Translation; None in the portion of a call without sentences."""


class TranslationTask:
    """Translation task, in which each sentence is a unit."""

    name = "translation"
    heads: tuple[Head, ...] = HEADS
    payload_type = "text/plain; charset=utf-8"
    """Media type of an input: the sentence."""
    payload_kept = False

    def __init__(self, translator: Translator, stepping: Stepping, pace: Pace, *, lanes: int) -> None:
        self._translator = translator
        self._stepping = stepping
        self._pace = pace
        self._lanes = lanes

    def expand(self, request: TranslationRequest) -> Units[CallData]:
        """Split texts; each sentence is an item.

        Raises:
            InvalidInput, TooLarge: see ``texts.read``.
        """
        call_data = texts.read(request, self._translator)
        steps = [
            self._pace.steps(len(sentence.tokenised.tokens)) for sentence in call_data.sentences if sentence.english
        ]
        width = min(max(len(steps), 1), self._stepping.quantum_size)
        under_way = sorted(steps, reverse=True)[: width * self._lanes]
        return Units(
            payload=call_data,
            count=len(call_data.sentences),
            seconds=sum(steps) * self._stepping.seconds(width) / width,
            nbytes=sum(map(self._translator.decoder.sentence_bytes, under_way))
            + ANSWER_BYTES * len(call_data.sentences)
            + sum(map(len, request.texts)),
            shifts=np.array(
                [Shift.OUTSIDE_TRAINING_RANGE if sentence.remarks else 0 for sentence in call_data.sentences], np.uint8
            ),
        )

    def run(self, units: Units[CallData]) -> Work:
        """Yield decoding steps; finished sentences leave a lane's batch, and waiting ones join it in text order."""
        call_data = units.payload
        if not units.count:
            yield Done(0, 0, {HYPOTHESES.name: none(self._translator)}, SentenceResult(call_data, None))
            return
        waiting: deque[Question] = deque()
        for item, sentence in enumerate(call_data.sentences):
            if sentence.english:
                waiting.append(Question(item, sentence))
            else:
                yield _done(call_data, item, self._translator.as_it_came(sentence))
        left = {question.item: question for question in waiting}
        lanes = max(1, min(self._lanes, len(waiting) // _LEAST))
        turns: list[Turn] = []
        while left:
            turns = self._filled(turns, waiting, lanes)
            try:
                results: list[Turned] = yield Steps(tuple(map(self._quantum, turns)))
            except DemurError:
                yield from self._one_by_one(call_data, left.values())
                return
            turns = [result.turn for result in results]
            for item, translation, steps in (finished for result in results for finished in result.done):
                self._pace.note(len(left.pop(item).sentence.tokenised.tokens), steps)
                yield _done(call_data, item, translation)
                yield Progress(1 - len(left) / units.count, "translating")

    def _filled(self, turns: list[Turn], waiting: deque[Question], lanes: int) -> list[Turn]:
        """Return the next turns, from running and waiting sentences; a nearly full lane waits for more room.

        Empty turns are left out.
        """
        width = self._stepping.quantum_size
        under_way = [turn for turn in turns if turn.size]
        filled = []
        for number, turn in enumerate([*under_way, *[Turn()] * (lanes - len(under_way))]):
            free = width - turn.size
            share = min(free, -(-len(waiting) // (lanes - number)))
            if turn.size and free < max(width // 4, 1):
                share = 0
            filled.append(Turn(turn.batches, tuple(waiting.popleft() for _ in range(share))))
        return [turn for turn in filled if turn.size]

    def _one_by_one(self, call_data: CallData, questions: Iterable[Question]) -> Work:
        """Decode the sentences of a failed pass alone, each from its beginning, so that failures stay separate."""
        for question in questions:
            turn = Turn(new=(question,))
            try:
                while turn.size:
                    turned: Turned = yield self._quantum(turn)
                    turn = turned.turn
                    for item, translation, _ in turned.done:
                        yield _done(call_data, item, translation)
            except DemurError as error:
                yield ItemFailed(question.item, error)

    def _quantum(self, turn: Turn) -> Shared:
        return Shared(self._stepping, turn, turn.size)

    def collapse(self, units: Units[CallData], portion: Portion) -> Portion:
        """Return the portion, which is the answer to its sentences."""
        return portion

    def payload(self, units: Units[CallData], items: NDArray[np.intp]) -> list[bytes]:
        """Return the sentences, for reviewers."""
        return [units.payload.sentences[item].text.encode() for item in items.tolist()]


def _done(call_data: CallData, item: int, translation: Translation) -> Done:
    return Done(item, 1, {HYPOTHESES.name: predictive([translation])}, SentenceResult(call_data, translation))
