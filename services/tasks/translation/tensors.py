"""Translation over the Open Inference Protocol: texts in; translations and tensors of their sentences out."""

from typing import Any

import numpy as np

from models.uncertainty.sequences import SCORES
from services.ledger.contract import Portion
from services.request.contract import ItemFailed
from services.runtime.errors import InvalidInput
from services.tasks.translation import presentation
from services.tasks.translation.answer import ANSWER, HEAD, SENTENCE
from services.tasks.translation.request import TranslationRequest
from services.transport.binding import OipBinding, TensorInputs, TensorOutputs, TensorSpec
from services.transport.oip.answer_tensors import TensorWriter, specs
from services.transport.oip.decided import decided, parameters

_WRITE, _WRITE_SENTENCE = TensorWriter(ANSWER), TensorWriter(SENTENCE)
_OF_HYPOTHESES = frozenset(field.tensor_name for field in SENTENCE if field.name.startswith(("texts", "all_")))


def binding(*, ensemble: bool) -> OipBinding:
    """Return the OIP binding of translation.

    Args:
        ensemble: whether there are several members, so that released scores exist.
    """
    return OipBinding(
        inputs=(
            TensorSpec("text", "BYTES", (-1,), "", "English texts of any number of sentences, UTF-8", optional=False),
        ),
        outputs=tuple(specs(ANSWER, repeated=False, unit="sentence", has=("ensemble",) if ensemble else ())),
        read=read,
        answer=answer,
        about=lambda: {"measures": ",".join(SCORES)} if ensemble else {},
        item=item,
    )


def read(inputs: TensorInputs) -> TranslationRequest:
    """Read a request from tensors.

    Raises:
        InvalidInput: a text that is not UTF-8.
    """
    return TranslationRequest(tuple(map(_text, range(len(inputs.tensors["text"])), inputs.tensors["text"])), "none")


def answer(answers: list[Any], output_names: frozenset[str]) -> TensorOutputs:
    """Return the tensors of a call, a row for each text or decided sentence.

    Raises:
        DemurError: see ``presentation.answered``.
    """
    call = presentation.answered(answers)
    record = call.record()
    record["sentences"] = [_detailed(sentence, output_names) for sentence in record["sentences"]]
    tensors = _WRITE([record], output_names) | decided(call.portions, HEAD)
    return TensorOutputs(tensors, parameters(call.portions or (call.first,), (HEAD,), call.failures))


def item(answer: Portion | ItemFailed, output_names: frozenset[str]) -> TensorOutputs | None:
    """Return the tensors of a finished sentence, without its place in the translation; None for failures."""
    if isinstance(answer, ItemFailed) or not answer.count:
        return None
    sentence = _detailed(presentation.sentence(answer), output_names)
    tensors = _WRITE_SENTENCE([sentence], output_names - {"span"}) | decided((answer,), HEAD)
    return TensorOutputs(tensors, parameters((answer,), (HEAD,)))


def _detailed(sentence: dict[str, Any], output_names: frozenset[str]) -> dict[str, Any]:
    """Add the fields that only tensors have of a sentence's hypotheses."""
    hypotheses = sentence["hypotheses"]
    if hypotheses:
        best = hypotheses[0]
        sentence |= {"best": best["text"], "best_score": best["score"], "best_confidence": best["confidence"]}
    if not output_names.isdisjoint(_OF_HYPOTHESES):
        sentence["texts"] = [hypothesis["text"].encode() for hypothesis in hypotheses]
        sentence["all_scores"] = [hypothesis["score"] for hypothesis in hypotheses]
        sentence["all_confidences"] = [hypothesis["confidence"] for hypothesis in hypotheses]
        if not hypotheses or "scores" in hypotheses[0]:
            sentence["all_measures"] = np.array([h["scores"] for h in hypotheses]).reshape(-1, len(SCORES))
    return sentence


def _text(index: int, content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"text[{index}] is no UTF-8 at byte {error.start}; send UTF-8",
            code="not_unicode",
            field="text",
            value=str(error.start),
            unit="byte",
            index=index,
        ) from error
