"""Fields of an answer about texts: translations, their sentences with hypotheses and tokens, and failures."""

from models.tasks.translation.spec import HYPOTHESES
from models.uncertainty.sequences import SCORES
from services.transport.answer import (
    DEFERRAL,
    ORIGIN,
    RECORDED,
    AnswerField,
    index,
    input_warnings,
    records,
    text,
    without_tensors,
)

HEAD = HYPOTHESES.name
_TOKENS = ("tokens",)


def _of_hypotheses(
    name: str, about: str, tensor: str, *sizes: int, unit: str = "", dtype: str = "float32"
) -> AnswerField:
    """Return a field that is a tensor of all hypotheses of each sentence; JSON and messages have records instead."""
    return AnswerField(
        name,
        f"{about} of each hypothesis of each sentence, the best first.",
        unit,
        dtype,
        ("hypotheses", *sizes),
        json="",
        message=False,
        tensor=tensor,
        default=False,
        needs="ensemble" if sizes else "",
    )


def _of_best(name: str, about: str, tensor: str, unit: str = "", dtype: str = "float32") -> AnswerField:
    """Return a field that is a tensor of the best hypothesis of each sentence."""
    return AnswerField(name, about, unit, dtype, json="", message=False, tensor=tensor)


TOKENS = (
    AnswerField("starts", "Start of the token in the text, characters.", "", "uint32", _TOKENS, json="start"),
    AnswerField("stops", "Its stop; that of the sentence's end is its start.", "", "uint32", _TOKENS, json="stop"),
    AnswerField(
        "log_probabilities", "Under the mean of the members.", "nats", shape=_TOKENS, json="log_probability_nats"
    ),
    AnswerField("total", "Entropy of the members' mean.", "nats", shape=_TOKENS, json="total_nats"),
    AnswerField(
        "data",
        "The members' mean entropy; absent for single models.",
        "nats",
        shape=_TOKENS,
        json="data_nats",
        missing="absent",
    ),
    AnswerField(
        "knowledge",
        "Mutual information, total less data; absent for single models.",
        "nats",
        shape=_TOKENS,
        json="knowledge_nats",
        missing="absent",
    ),
)
HYPOTHESIS = (
    text("text", "In Russian."),
    AnswerField(
        "score",
        "Log-probability over its tokens with the end of sentence; null: none.",
        "nats a token",
        dtype="float64",
        null=True,
        json="score_nats",
    ),
    AnswerField("confidence", "Softmax of the scores over the sentence's hypotheses.", dtype="float64"),
    AnswerField(
        "scores",
        "The released scores (Shifts 1.0), most in nats a token; absent for single models.",
        shape=(len(SCORES),),
        keys=SCORES,
        missing="absent",
        title="ReleasedScores",
    ),
    AnswerField(
        "tokens",
        "Absent where not asked for.",
        dtype="record",
        fields=TOKENS,
        columns=True,
        missing="absent",
        title="Token",
    ),
)
SENTENCE = (
    index("item", "Index of the sentence in the call.", tensor="sentence"),
    index("text", "Index of its text.", tensor="sentence_text"),
    AnswerField("source", "The sentence.", dtype="string", message=False),
    index("source_start", "Start of the sentence in its text, characters.", tensor=""),
    index("source_stop", "Its stop there.", tensor=""),
    AnswerField(
        "source_span",
        "Place of the sentence in its text, [start, stop).",
        "characters",
        "int32",
        (2,),
        json="",
        message=False,
    ),
    index("start", "Start of the best hypothesis in the translation, characters.", tensor=""),
    index("stop", "Its stop there.", tensor=""),
    _of_best("best", "Best hypothesis; empty where the policy withholds it.", "best", dtype="string"),
    _of_best("best_score", "Its log-probability a token; NaN where there is none.", "score", "nats"),
    _of_best("best_confidence", "Softmax of the scores, of the best; NaN where there is none.", "confidence"),
    DEFERRAL,
    RECORDED,
    input_warnings("not_english, tokens_high, literal_share_high"),
    records(
        "hypotheses",
        "Translations, the best first; none where the policy withholds them.",
        without_tensors(HYPOTHESIS),
        title="Hypothesis",
    ),
    _of_hypotheses("texts", "Text, empty behind the last,", "hypotheses", dtype="string"),
    _of_hypotheses("all_scores", "Score", "hypothesis_scores", unit="nats"),
    _of_hypotheses("all_confidences", "Confidence", "hypothesis_confidences"),
    AnswerField(
        "span",
        "Place of the best hypothesis in the translation, [start, stop).",
        "characters",
        "int32",
        (2,),
        json="",
        message=False,
    ),
    _of_hypotheses("all_measures", "Released scores", "hypothesis_measures", len(SCORES), unit="nats"),
)
FAILURE = (
    index("item", "Index of the sentence in the call.", tensor=""),
    index("text", "Index of its text.", tensor=""),
    AnswerField("error", dtype="error", tensor=""),
)
ANSWER = (
    *ORIGIN,
    records(
        "texts",
        "As many as were sent.",
        (
            AnswerField(
                "translation",
                "Sentences in Russian, and between them what stood there. A sentence that failed, is withheld or is "
                "not English stands as it came.",
                dtype="string",
            ),
            index("first", "Index of its first sentence.", tensor=""),
            index("sentences", "Number of its sentences; 0 where nothing in it can be translated."),
        ),
        title="TextAnswer",
    ),
    records("sentences", "Of all texts, in their order.", SENTENCE, title="SentenceAnswer"),
    records("failures", "Sentences that could not be translated, while others could.", FAILURE, title="Failure"),
    AnswerField("scores", "Names of the released scores.", dtype="string", shape=(len(SCORES),), json="", tensor=""),
)
