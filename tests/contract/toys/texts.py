"""One text to n sentences that finish at different times; each word of each sentence is a quantum of its own."""

from typing import Any

import numpy as np

from models.calibration import Calibration, RetentionTable
from models.head import Head
from models.predictive import Categorical
from services.ledger.contract import Portion
from services.policy.decision import Shift
from services.request.contract import Description, Done, ItemFailed, Step, Units, Work
from services.runtime.errors import DemurError, InvalidInput, TooLarge
from services.transport.binding import OipBinding, Options, TensorOutputs, TensorSpec
from services.transport.oip.decided import decided, decided_specs, parameters
from services.transport.served_model import Parts, ServedModel
from tests.contract.toys import wire
from tests.contract.toys.toy import STEP_SECONDS, Body, Probe, Refusal, Toy

TONE = Head("tone", "categorical", "1", "tone of 2", "error_rate", "1", None, "entropy", "entropy", "mi")
MAX_SENTENCES = 16
POISON = "boom"
"""A word on which the model raises."""
_WEIGHTS = {"maybe": 0.5, "odd": 0.99, "void": float("nan")}
"""Probability of the first tone by word; other words say 0.99."""


class Task:
    """Sentences take turns, one word a quantum, so short ones finish first."""

    name = "texts"
    heads = (TONE,)

    def __init__(self, probe: Probe) -> None:
        self._probe = probe

    def expand(self, sentences: list[Any]) -> Units[list[list[str]]]:
        if len(sentences) > MAX_SENTENCES:
            raise TooLarge(f"{len(sentences)} sentences, at most {MAX_SENTENCES}", code="too_many_items")
        for index, sentence in enumerate(sentences):
            if not isinstance(sentence, str) or not 1 <= len(sentence) <= 200:
                length = len(sentence) if isinstance(sentence, str) else -1
                raise InvalidInput(
                    f"sentence {index} has {length} characters; 1 to 200 are taken",
                    code="out_of_range",
                    field="sentences",
                    value=str(length),
                    unit="characters",
                    allowed="[1, 200]",
                    index=index,
                )
        words = [sentence.split() for sentence in sentences]
        strange = ["odd" in sentence for sentence in words]
        return Units(
            payload=words,
            count=len(words),
            seconds=STEP_SECONDS * sum(map(len, words)),
            nbytes=sum(map(len, sentences)),
            shifts=np.where(strange, np.uint8(Shift.OUTSIDE_TRAINING_RANGE), np.uint8(0)),
        )

    def run(self, units: Units[list[list[str]]]) -> Work:
        left = {index: list(words) for index, words in enumerate(units.payload)}
        spoken: dict[int, list[tuple[str, float]]] = {index: [] for index in left}
        while left:
            for index in list(left):
                word = left[index].pop(0)
                try:
                    spoken[index].append((yield Step(lambda word=word: self._say(word), STEP_SECONDS)))
                except DemurError as error:
                    yield ItemFailed(index, error)
                    del left[index]
                    continue
                if not left[index]:
                    del left[index]
                    yield self._done(index, spoken[index])

    def collapse(self, units: Units[list[list[str]]], portion: Portion) -> Portion:
        return portion

    def _say(self, word: str) -> tuple[str, float]:
        self._probe.quantum(word)
        if word == POISON:
            raise RuntimeError("secret text of the model")
        return word.upper(), _WEIGHTS.get(word, 0.99)

    def _done(self, index: int, spoken: list[tuple[str, float]]) -> Done:
        words, weights = zip(*spoken, strict=True)
        first = np.float32(np.min(weights))
        p = np.array([[first, 1 - first]], np.float32)
        entropy = -(p * np.log(p)).sum(axis=1)
        return Done(index, 1, {"tone": Categorical(p, entropy, np.log(p))}, [" ".join(words)])


def says(predictive: Any, index: int) -> Any:
    return predictive.probabilities[index].tolist()


def read(body: Any) -> tuple[list[Any], Options]:
    return _sentences(body), wire.wishes(body, ("tone",))


def _sentences(body: Any) -> list[Any]:
    return wire.must_be_body(body, "sentences")


def tell(answers: list[Portion | ItemFailed], output_names: frozenset[str]) -> TensorOutputs:
    """Sentences in the order of the request."""
    portions = sorted((answer for answer in answers if isinstance(answer, Portion)), key=lambda portion: portion.first)
    failures = [answer for answer in answers if isinstance(answer, ItemFailed)]
    if not portions:
        raise failures[0].error
    probabilities = [
        np.where(portion.verdicts["tone"].hidden, np.nan, portion.predictives["tone"].probabilities)
        for portion in portions
    ]
    tensors = {
        "item": np.array([portion.first for portion in portions], np.int32),
        "tone_says": np.concatenate(probabilities).astype(np.float32),
        **decided(portions, "tone"),
    }
    return TensorOutputs(tensors, parameters(portions, ("tone",), failures))


def tell_one(answer: Portion | ItemFailed, output_names: frozenset[str]) -> TensorOutputs | None:
    return None if isinstance(answer, ItemFailed) else tell([answer], output_names)


OIP = OipBinding(
    inputs=(TensorSpec("sentences", "BYTES", (-1,), optional=False),),
    outputs=(
        TensorSpec("item", "INT32", (-1,)),
        TensorSpec("tone_says", "FP32", (-1, 2)),
        *decided_specs(item="sentence"),
    ),
    read=lambda request: [sentence.decode() for sentence in request.tensors["sentences"]],
    answer=tell,
    item=tell_one,
)


def build(parts: Parts, probe: Probe) -> ServedModel:
    description = Description("texts", "toy-texts:1", None, (TONE,), MAX_SENTENCES)
    frames = wire.Frames(_sentences, says, ("tone",), itemised=True)
    return wire.tenant(parts.pipeline(Task(probe)), description, read, says, OIP, frames)


def text(*sentences: Any, **wishes: Any) -> Body:
    return {"sentences": list(sentences), **wishes}


TOY = Toy(
    name="texts",
    calibrations={
        "tone": Calibration(
            RetentionTable("entropy", 400, (0.5, 0.95), (0.1, 0.5)), {"mi": tuple(np.linspace(0, 1, 103).tolist())}
        )
    },
    build=build,
    good=text("one two three", "one"),
    items=2,
    doubtful=text("one two three", "one maybe"),
    unknowable=text("a void"),
    strange=text("an odd one"),
    refusals=(
        Refusal(
            text("one", ""),
            {
                "code": "out_of_range",
                "field": "sentences",
                "value": "0",
                "unit": "characters",
                "index": 1,
                "allowed": "[1, 200]",
            },
        ),
    ),
    failing=text("one two", "one boom two"),
    fails_alone=True,
    slow=text(" ".join(["word"] * 12), " ".join(["word"] * 12)),
    quanta=24,
    good_quanta=4,
    strict={"tone": 0.001},
)
