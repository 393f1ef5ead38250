"""Fields of the answer about one image, and the function that fills them."""

from digits.spec import DIGIT
from models import uncertainty
from models.predictive import Categorical
from services.ledger.contract import Portion
from services.transport.answer import AnswerField, Record
from services.transport.table_binding import UnitTable

FIELDS = (
    AnswerField("digit", "The most probable digit.", dtype="uint32", missing="absent", datatype="INT32", fill=-1),
    AnswerField("probabilities", "Mean of the members' probabilities of 0 to 9.", shape=(10,), missing="absent"),
    AnswerField("total", "Entropy of the mean probabilities.", "nats", missing="absent"),
    AnswerField("data", "Mean entropy of the members.", "nats", missing="absent", needs="ensemble"),
    AnswerField("knowledge", "Mutual information: total less data.", "nats", missing="absent", needs="ensemble"),
)


def record(portion: Portion, place: int) -> Record:
    """Return the values of ``FIELDS`` of one image."""
    predictive = portion.predictives[DIGIT.name]
    assert isinstance(predictive, Categorical)
    total, knowledge = (float(uncertainty.score(predictive, measure)[place]) for measure in ("entropy", "mi"))
    probabilities = predictive.probabilities[place]
    return {
        "digit": int(probabilities.argmax()),
        "probabilities": probabilities,
        "total": total,
        "data": total - knowledge,
        "knowledge": knowledge,
    }


TABLE = UnitTable(head=DIGIT.name, unit="image", fields=FIELDS, record=record, has=frozenset({"ensemble"}))
