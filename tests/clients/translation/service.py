"""A small translation service that keeps the contract, on a real socket: it writes English in Cyrillic, so known."""

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import grpc
import numpy as np

from demur.v1 import common_pb2 as common
from demur.v1 import translation_pb2 as wire
from demur.v1.translation_pb2_grpc import TranslationServiceServicer, add_TranslationServiceServicer_to_server
from tests.clients.ahead import Ahead
from tests.clients.stand_in import PROFILE, Refused, UnitStandIn, refuse

SCORES = ("eoe", "scr_pe")
LARGEST_SENTENCES = 1024
LARGEST_CHARACTERS = 10**5
_LETTERS = dict(zip("abcdefghiklmnoprstuvwyz", "абцдефгхиклмнопрстуввйз", strict=True)) | {
    "j": "дж",
    "q": "кв",
    "x": "кс",
}
_SENTENCE = re.compile(r"[^\s.!?\U0001F600][^.!?\n]*[.!?]?")


def russian(text: str) -> str:
    """What a sentence is said to be: often longer."""
    return "".join(_LETTERS.get(letter, letter) for letter in text)


def russian_text(text: str) -> str:
    """What a text is said to be."""
    return _SENTENCE.sub(lambda match: russian(match.group()), text)


def doubt(word: str) -> float:
    """Total uncertainty of the first token of a word, nats: a tenth of its letters; the second has half."""
    return float(np.float32(len(word) / 10))


@dataclass
class TranslationStandIn(UnitStandIn, TranslationServiceServicer):
    """The service, with what a test wants to see of it and do to it.

    One with ``spoilt`` cannot be translated, one with ``nicht`` is not English.
    A text with ``refused`` is refused, and one with ``overloaded`` finds no room.
    """

    register = staticmethod(add_TranslationServiceServicer_to_server)
    task, epoch, threshold = "translation", 0x7E, 1.0
    head = common.HeadSpec(name="translation", kind="text", unit="1", measure="scr_pe", label="text")
    singular: bool = False
    """A single model: no released scores, no data and knowledge uncertainty."""
    hypotheses: int = 2
    early: int = 0
    """Of a chunk's sentences so many are told before it is done, the last first."""
    together: int = 1
    """Chunks of a stream that are worked on at once: their early sentences come by turns."""
    answered: int = 0
    """Sentences so far."""

    def Predict(self, request, context):
        self.fail(context)
        time.sleep(self.seconds)
        try:
            return self.answer(request, request)
        except Refused as error:
            wrong = error.detail.code == "bad_text"
            status = grpc.StatusCode.INVALID_ARGUMENT if wrong else grpc.StatusCode.RESOURCE_EXHAUSTED
            refuse(context, status, error.detail)

    def PredictStream(self, requests, context):
        begin = self.begun(requests, context)
        yield wire.TranslationStreamResponse(accepted=self.accepted())
        ahead = Ahead(requests, self.unanswered)
        group: list[Any] = []
        for chunk in ahead:
            group.append(chunk)
            if len(group) == self.together:
                yield from self._answers(group, begin, ahead)
                group = []
        yield from self._answers(group, begin, ahead)

    def _answers(self, chunks: list[Any], begin: Any, ahead: Ahead) -> Iterator[wire.TranslationStreamResponse]:
        outcomes: list[wire.TranslationPredictResponse | Refused] = []
        for chunk in chunks:
            time.sleep(self.seconds)
            try:
                outcomes.append(self.answer(chunk.request, begin))
            except Refused as error:
                outcomes.append(error)
        for _ in range(self.early):
            for chunk, outcome in zip(chunks, outcomes, strict=True):
                if isinstance(outcome, wire.TranslationPredictResponse) and outcome.sentences:
                    sentence = outcome.sentences.pop()
                    sentence.ClearField("start")
                    sentence.ClearField("stop")
                    message = wire.TranslationSaid(sequence=chunk.sequence, sentence=sentence, scores=outcome.scores)
                    yield wire.TranslationStreamResponse(sentence=message)
        for chunk, outcome in zip(chunks, outcomes, strict=True):
            yield wire.TranslationStreamResponse(progress=common.StreamProgress(chunks_done=ahead.done))
            ahead.done += 1
            if isinstance(outcome, Refused):
                error = common.ItemError(sequence=chunk.sequence, error=outcome.detail)
                yield wire.TranslationStreamResponse(error=error)
                continue
            for failed in outcome.failures:  # told again in the result
                failure = common.ItemError(sequence=chunk.sequence, item=failed.item, error=failed.error)
                yield wire.TranslationStreamResponse(error=failure)
            result = wire.TranslationResult(sequence=chunk.sequence, answer=outcome)
            yield wire.TranslationStreamResponse(result=result)

    def answer(self, request: wire.TranslationPredictRequest, manner: Any) -> wire.TranslationPredictResponse:
        self.requests.append(request)
        scores = () if self.singular else SCORES
        response = wire.TranslationPredictResponse(model="translation:1", profile=PROFILE, scores=scores)
        item = 0
        if sum(map(len, request.texts)) > LARGEST_CHARACTERS:
            raise Refused("too_long", "too many characters", "texts")
        for number, text in enumerate(request.texts):
            if "refused" in text:
                raise Refused("bad_text", "texts is refused", "texts", index=number)
            if "overloaded" in text:
                raise Refused("queue_full", "no room")
            first, place, parts = item, 0, []
            for match in _SENTENCE.finditer(text):
                parts.append(text[place : match.start()])
                place = match.end()
                if "spoilt" in match.group():
                    error = common.ErrorDetail(code="no_translation", message="no hypothesis ended", field="texts")
                    response.failures.add(item=item, text=number, error=error)
                    parts.append(match.group())
                else:
                    sentence = self._sentence(match.group(), request.tokens, manner)
                    sentence.item, sentence.text = item, number
                    sentence.source_start, sentence.source_stop = match.span()
                    length = sum(map(len, parts))
                    if sentence.hypotheses:
                        parts.append(sentence.hypotheses[0].text)
                        sentence.start, sentence.stop = length, length + len(parts[-1])
                    else:
                        parts.append(match.group())
                    response.sentences.append(sentence)
                item += 1
            translation = "".join([*parts, text[place:]])
            response.texts.add(translation=translation, first=first, sentences=item - first)
        if item > LARGEST_SENTENCES:
            raise Refused("too_many", f"{item} sentences", "texts")
        return response

    def _sentence(self, source: str, detail: int, manner: Any) -> wire.TranslatedSentence:
        number, self.answered = self.answered, self.answered + 1
        uncertainty = np.float32(0.5 + number % 2)
        deferral = self.deferral(number, uncertainty, common.SHIFT_OUTSIDE_TRAINING_RANGE, manner)
        sentence = wire.TranslatedSentence(
            recorded=manner.purpose != common.PURPOSE_EXPLORE,
            deferral=deferral,
        )
        if number % 2:
            sentence.remarks.add(code="slang", message="many unknown pieces", value=0.5, unit="1", lower=0, upper=0.2)
        if self.withheld(deferral):
            return sentence
        if "nicht" in source:
            unknown = np.full(0 if self.singular else len(SCORES), np.nan, "<f4")
            sentence.hypotheses.add(text=source, score=np.nan, confidence=1.0, scores=unknown.tobytes())
            return sentence
        for place in range(self.hypotheses):
            text = russian(source) + "!" * place
            hypothesis = sentence.hypotheses.add(text=text, score=-0.5 - place, confidence=0.75 if place == 0 else 0.25)
            if not self.singular:
                hypothesis.scores = np.array([0.25, 0.5 + place], "<f4").tobytes()
            detailed = detail != wire.TRANSLATION_DETAIL_NONE
            if detailed and (place == 0 or detail == wire.TRANSLATION_DETAIL_ALL):
                hypothesis.tokens.CopyFrom(self._tokens(text))
        return sentence

    def _tokens(self, text: str) -> wire.TranslationTokens:
        """Two a word, cut in the middle, and the end of the sentence."""
        spans, total = [], []
        for word in re.finditer(r"\S+", text):
            middle = (word.start() + word.end()) // 2
            spans += [(word.start(), middle), (middle, word.end())]
            total += [doubt(word.group()), doubt(word.group()) / 2]
        places = np.array([*spans, (len(text), len(text))], "<u4")
        uncertain = np.array([*total, 9.0], "<f4")
        message = wire.TranslationTokens(
            starts=places[:, 0].tobytes(),
            stops=places[:, 1].tobytes(),
            log_probabilities=(-2 * uncertain).tobytes(),
            total=uncertain.tobytes(),
        )
        if not self.singular:
            message.data, message.knowledge = (uncertain * 0.75).tobytes(), (uncertain * 0.25).tobytes()
        return message
