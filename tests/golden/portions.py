"""Decided portions with fixed numbers, so that their answers are the same on every machine."""

from typing import Any

import numpy as np

from models.familiarity import Departures
from models.head import Head
from models.input_warning import InputWarning
from models.predictive import Categorical, Gaussian, Sequences, Trajectories, Volumes
from models.tasks.lesion.inference.burden import Burden, Interval, Quantity
from models.tasks.lesion.inference.lesions import Lesion
from models.tasks.lesion.inference.segmentation import Means, Segmentation
from models.tasks.lesion.spec import LESIONS
from models.tasks.motion.spec import TRAJECTORIES
from models.tasks.translation.inference.translator import SourceSentence, TokenValues, Translation
from models.tasks.translation.spec import HYPOTHESES
from models.tasks.translation.text.documents import cut_at
from models.tasks.translation.text.tokens import Sentence
from models.uncertainty.sequences import SCORES
from services.ledger.contract import Portion
from services.ledger.unit_ids import UnitIds
from services.policy.decision import Decision, Policy, Shift, Verdict
from services.request.contract import ItemFailed
from services.request.row_task import IntervalsOption, RowsAnswered
from services.runtime.errors import InvalidInput
from services.tasks.lesion.task import ScanResult
from services.tasks.motion.inputs import Subject
from services.tasks.motion.request import Pose
from services.tasks.motion.task import CallData as MotionCallData
from services.tasks.motion.task import ItemsResult
from services.tasks.translation.task import SentenceResult
from services.tasks.translation.texts import CallData as TranslationCallData

WARNING = InputWarning("speed_high", "speed: 50 m/s, where training requests had 0 to 20 m/s", 50.0, "m/s", 0.0, 20.0)
FAILURE = InvalidInput("track 7 has no state now", code="unseen", field="track_id", value="7", index=2)


def numbers(*shape: int, seed: int = 0) -> Any:
    """Numbers [*shape] that float32 holds exactly."""
    size = int(np.prod(shape))
    return ((np.arange(size) * 7 + seed) % 32 / 8).astype(np.float32).reshape(shape)


def policy(head: Head, *, withhold: bool = False, threshold: float = 1.25) -> Policy:
    return Policy(
        head.name,
        f"{head.name}:1",
        "golden",
        head.ensemble_measure,
        threshold,
        "target_retention",
        0.9,
        0.02,
        400,
        knowledge_measure="varm",
        knowledge_reference=2.5,
        withhold=withhold,
        audit_strata=((0.5, 0.1),),
    )


def portion(
    heads: dict[Head, Any], payload: Any, *, first: int = 0, withhold: bool = False, recorded: bool = True
) -> Portion:
    """All of these heads' units, the last of which is deferred and shifted."""
    verdicts, ids = {}, {}
    for place, (head, predictive) in enumerate(heads.items()):
        count = len(predictive)
        decisions = np.full(count, Decision.ANSWER, np.uint8)
        shifts = np.zeros(count, np.uint8)
        uncertainty = numbers(count)
        if count:
            decisions[-1], shifts[-1] = Decision.DEFER, Shift.OUTSIDE_TRAINING_RANGE | Shift.UNLIKELY_INPUTS
            uncertainty[-1] = np.inf
        if count > 1:
            decisions[0] = Decision.CALLER_DEFERRED
        verdicts[head.name] = Verdict(policy(head, withhold=withhold), uncertainty, decisions, shifts)
        ids[head.name] = UnitIds(0xABC, 98 + 100 * place + first, count)
    count = len(next(iter(heads.values())))
    predictives = {head.name: predictive for head, predictive in heads.items()}
    return Portion(first, count, predictives, verdicts, ids, payload, "golden:1", "golden", "decide", recorded)


def rows(
    heads: tuple[Head, ...],
    *,
    ensemble: bool,
    members: bool,
    withhold: bool,
    intervals: bool = False,
    count: int = 3,
) -> Portion:
    """Rows, the last of which departs from training in two columns."""
    departures = Departures(
        np.array([count - 1] * 2),
        np.array([1, 0]),
        numbers(2, seed=3),
        np.array([np.nan, -2.5], np.float32),
        np.array([1.5, np.nan], np.float32),
    )
    predictives: dict[Head, Any] = {}
    predictions: dict[str, Any] = {}
    for head in heads:
        if head.kind == "gaussian":
            varm = numbers(count, seed=2) if ensemble else None
            predictives[head] = Gaussian(numbers(count), numbers(count, seed=1) + 1, varm)
            predictions[head.name] = (numbers(2, count), numbers(2, count, seed=5))
        else:
            classes = head.classes or 3
            probabilities = np.zeros((count, classes), np.float32)  # certain: its entropy is the same everywhere
            probabilities[:, 1] = 1
            entropy = numbers(count, seed=1) / 64 if ensemble else None
            logs = probabilities - 1 if ensemble else None
            predictives[head] = Categorical(probabilities, entropy, logs)
            predictions[head.name] = (numbers(2, classes, count),)
    payload = RowsAnswered(
        predictions if members else {}, lambda flagged: departures, IntervalsOption(requested=intervals)
    )
    return portion(predictives, payload, withhold=withhold)


def motion(*, ensemble: bool, withhold: bool, scene: bool) -> list[Any]:
    """Four requests of which the third failed; the second has no pose and was not seen for a while."""
    if scene:
        subjects = (
            Subject("scene-1", 3, Pose(10.0, -4.0, 0.0)),
            Subject("scene-1", 2**63, None, 2),
            None,
            Subject("scene-1", 9, Pose(1.0, 2.0, 0.0)),
        )
        call = MotionCallData("scene-1", (3, 2**63, 7, 9), subjects, True)
    else:
        call = MotionCallData("", (0, 0, 0, 0), (None,) * 4, False)

    def statistics(count: int) -> Trajectories:
        spread = (numbers(count, 25, seed=1), numbers(count, 25, seed=2)) if ensemble else (None, None)
        plans = numbers(count, 5, 25, 2)
        weights = np.tile(np.array([0.5, 0.25, 0.125, 0.0625, 0.0625], np.float32), (count, 1))
        return Trajectories(
            plans, weights, numbers(count), numbers(count, 5, seed=4), numbers(count, 25, seed=3), *spread
        )

    late = portion({TRAJECTORIES: statistics(1)}, ItemsResult(call, ((),)), first=3, withhold=withhold, recorded=False)
    early = portion({TRAJECTORIES: statistics(2)}, ItemsResult(call, ((WARNING,), ())), withhold=withhold)
    return [late, early, ItemFailed(2, FAILURE)]


def lesion(*, ensemble: bool, withhold: bool, advice: bool, arrays: bool) -> list[Any]:
    """A scan of four voxels with two lesions; single models have neither parts nor intervals."""
    volume = numbers(2, 2, 1)
    segmentation = Segmentation(
        affine=np.diag([1.0, 2.0, 3.0, 1.0]),
        space=1,
        mask=np.array([[[True], [False]], [[True], [False]]]),
        maps={},
        lesions=(
            Lesion(12.5, (1.0, -2.0, 3.5), 0.75, 0.25 if ensemble else None, True if advice else None),
            Lesion(2.5, (0.0, 0.0, 0.5), 0.5, 0.5 if ensemble else None, False if advice else None),
        ),
        burden=Burden(
            Quantity(2.0, 0.3),
            Quantity(0.015, 0.3),
            Interval(0.9, 1.0, 4.0) if ensemble else None,
            Interval(0.9, 0.0, 0.5) if ensemble else None,
        ),
        means=Means(0.5, 0.25, 0.25, 0.125) if ensemble else Means(0.5),
        structural=0.375 if ensemble else None,
        look_at_voxels=0.125 if advice else None,
        brain_ml=1.5,
        resampled=True,
        appearance={},
        remarks=(WARNING,),
    )
    result = ScanResult(
        "scan 1" if advice else "",
        segmentation,
        {} if arrays else {"mask": b"mask file", "total": b"total file"},
        {"mask": segmentation.mask.astype(np.uint8), "total": volume} if arrays else {},
    )
    statistics = Volumes((), [segmentation.mask], np.array([0.5], np.float32))
    return [portion({LESIONS: statistics}, result, withhold=withhold)]


def translation(*, ensemble: bool, withhold: bool, tokens: Any) -> list[Any]:
    """Two texts of three sentences: the second sentence failed, the third is not English."""
    texts = (
        SourceSentence("It rains.", Sentence((1, 2), ()), ()),
        SourceSentence("It snows.", Sentence((1, 2), ()), ()),
        SourceSentence("Ça va?", Sentence((3,), ()), (WARNING,)),
    )
    documents = (cut_at("It rains.  It snows.", [(0, 9), (11, 20)]), cut_at("- Ça va?", [(2, 8)]))
    call_data = TranslationCallData(documents, texts, (0, 2), tokens)
    parts = numbers(3, seed=2) if ensemble else None
    token_values = TokenValues(
        np.array([[0, 2], [3, 9], [9, 9]], np.uint32), numbers(3), numbers(3, seed=1), parts, parts
    )
    first = Translation(
        ("Идёт дождь", "Дождь"),
        np.array([-0.5, -0.5], np.float32),  # alike: their softmax is the same everywhere
        {name: numbers(2, seed=place) for place, name in enumerate(SCORES)} if ensemble else None,
        (token_values, token_values),
    )
    nan = np.full(1, np.nan, np.float32)
    foreign = Translation(("Ça va?",), nan, dict.fromkeys(SCORES, nan) if ensemble else None, ())

    def decided(item: int, translated: Translation) -> Portion:
        head = {HYPOTHESES: Sequences(translated.score[None])}
        return portion(head, SentenceResult(call_data, translated), first=item, withhold=withhold and item == 0)

    return [decided(2, foreign), decided(0, first), ItemFailed(1, FAILURE)]
