"""Calls that lesion, motion and translation have in common, over a real socket."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

import grpc
import pytest

import demur
from demur.v1 import common_pb2 as common
from tests.clients.lesion_service import LesionStandIn, canned
from tests.clients.motion.service import MotionStandIn, scene
from tests.clients.stand_in import UnitStandIn, serving
from tests.clients.translation.service import TranslationStandIn

NAN = float("nan")


@dataclass(frozen=True)
class Task:
    """How a task is asked in these tests."""

    stand_in: type[UnitStandIn]
    question: Callable[[int], Any]
    answers: Callable[[Any, int], bool]
    """Return whether an answer belongs to the question with this number."""
    first: Callable[[Any], Any]
    """First unit in the message of an answer."""
    refused: tuple[Any, ...]
    """Questions that are refused, by the client or by the service."""
    units: int
    """Number of units of a question."""
    wishes: tuple[dict[str, Any], ...]
    """Wishes of this task that mean nothing."""
    broken: dict[str, Callable[[Any], object]]
    """Changes of an answer's message that break the contract."""


TASKS = {
    "lesion": Task(
        stand_in=LesionStandIn,
        question=lambda number: str(number).encode(),
        answers=lambda answer, number: answer.files["mask"] == canned("mask", str(number).encode()),
        first=lambda answer: answer,
        refused=(b"bad", b""),
        units=1,
        wishes=({"maps": ["mask", "entropy"]}, {"maps": []}),
        broken={"a place of four numbers": lambda answer: answer.lesions[0].centroid_mm.append(1.0)},
    ),
    "motion": Task(
        stand_in=MotionStandIn,
        question=lambda number: scene(str(number)),
        answers=lambda answers, number: answers.scene_id == str(number),
        first=lambda answer: answer.answers[0],
        refused=(b"\xff", b"", "/nowhere/a.pb"),
        units=2,
        wishes=({"defer_above": {"trajectories": 1.0}},),
        broken={
            "fewer modes": lambda answer: setattr(answer.answers[0], "modes", 4),
            "fewer places": lambda answer: setattr(answer.answers[0], "scene_trajectories", bytes(16)),
            "one spread": lambda answer: setattr(answer.answers[0], "total", bytes(4)),
            "one confidence": lambda answer: setattr(answer.answers[0], "confidences", bytes(4)),
        },
    ),
    "translation": Task(
        stand_in=TranslationStandIn,
        question=lambda number: f"Number {number}. Another.",
        answers=lambda translations, number: translations[0].source == f"Number {number}. Another.",
        first=lambda answer: answer.sentences[0],
        refused=("refused", b"", [], 7, "\ud800"),
        units=2,
        wishes=({"defer_above": {"translation": 1.0}}, {"tokens": "some"}, {"tokens": True}),
        broken={},  # more of them, of calls and documents: translation/test_calls.py
    ),
}
BROKEN_DEFERRALS: dict[str, Callable[[common.Deferral], object]] = {
    "two ids": lambda deferral: deferral.ids.MergeFrom(common.UnitIds(count=2)),
    "no such decision": lambda deferral: deferral.MergeFrom(common.Deferral(decisions=b"\x09")),
}


@pytest.fixture(params=TASKS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def task(name: str) -> Task:
    return TASKS[name]


@pytest.fixture
def stand_in(task: Task) -> UnitStandIn:
    return task.stand_in()


@pytest.fixture
def target(stand_in: UnitStandIn) -> Iterator[str]:
    with serving(stand_in) as where:
        yield where


@pytest.fixture
def asked(client, name):
    """The client of the task."""
    return getattr(client, name)


@pytest.mark.parametrize("window", [1, 2, 100])
def test_questions_are_drawn_ahead_by_no_more_than_the_window(task, asked, stand_in, window):
    stand_in.window, stand_in.seconds = 3, 0.002
    drawn = 0

    def questions() -> Iterator[Any]:
        nonlocal drawn
        for number in range(20):
            drawn += 1
            yield task.question(number)

    bound = min(window, stand_in.window)
    for position, answer in enumerate(asked.predict_many(questions(), window=window)):
        assert task.answers(answer, position)
        assert drawn - position <= bound
    assert stand_in.most_unanswered <= bound
    assert position == 19


def test_no_questions_give_no_answers(asked):
    assert list(asked.predict_many([])) == []


def test_closing_cancels(task, asked, stand_in):
    stream = asked.predict_many(task.question(1) for _ in iter(int, 1))
    next(stream)
    stream.close()
    assert stand_in.ended.wait(60)
    assert task.answers(asked.predict(task.question(2)), 2)


def test_predict_is_retried_whole_and_only_while_unavailable(task, asked, stand_in):
    stand_in.faults = [grpc.StatusCode.UNAVAILABLE] * 2
    assert task.answers(asked.predict(task.question(1)), 1)
    stand_in.faults = [grpc.StatusCode.INTERNAL]
    with pytest.raises(demur.ServiceFailure):
        asked.predict(task.question(1))


def test_the_deadline_holds(task, asked, stand_in):
    stand_in.seconds = 2
    with pytest.raises(demur.DeadlineExceeded, match="within 0.3 s"):
        asked.predict(task.question(1), timeout=0.3)


WISHES = ({"purpose": "guess"}, {"defer_above": NAN}, {"timeout": 0})


@pytest.mark.parametrize(
    ("name", "wish"),
    [(name, wish) for name, task in TASKS.items() for wish in (*WISHES, *task.wishes)],
    indirect=["name"],
)
def test_wishes_that_mean_nothing_are_named_at_once(task, asked, stand_in, wish):
    (field,) = wish
    document = [asked.document] if hasattr(asked, "document") else []
    for ask in (asked.predict, lambda question, **more: asked.predict_many([question], **more), *document):
        with pytest.raises(demur.InvalidInput) as caught:
            ask(task.question(1), **wish)
        assert caught.value.field == field
    assert (stand_in.requests, stand_in.begins) == ([], [])


@pytest.mark.parametrize(
    ("name", "how"),
    [(name, how) for name, task in TASKS.items() for how in (*BROKEN_DEFERRALS, *task.broken)],
    indirect=["name"],
)
def test_a_broken_answer_is_the_services_failure(task, asked, stand_in, how):
    right = stand_in.answer

    def wrong(*arguments):
        answer = right(*arguments)
        if how in BROKEN_DEFERRALS:
            BROKEN_DEFERRALS[how](task.first(answer).deferral)
        else:
            task.broken[how](answer)
        return answer

    stand_in.answer = wrong
    document = [lambda text: list(asked.document(text))] if hasattr(asked, "document") else []
    for ask in (asked.predict, *document):
        with pytest.raises(demur.ServiceFailure) as caught:
            ask(task.question(1))
        assert caught.value.code == "malformed"


def test_describe_tells_the_measure(name, asked, stand_in):
    described = asked.describe()
    assert (described.task, described.heads[0].measure) == (name, stand_in.head.measure)


async def test_asynchronously_it_is_the_same(name, task, asked, stand_in, target):
    question = task.question(1)
    async with demur.aconnect(target, timeout=10) as opened:
        other = getattr(opened, name)
        answers = []
        for ask in (other.predict, asked.predict):
            stand_in.answered, stand_in.scans = 0, []  # each counts from the start
            result = ask(question)
            answers.append(await result if asyncio.iscoroutine(result) else result)
        assert answers[0].to_dict() == answers[1].to_dict()
        assert getattr(answers[0], "files", None) == getattr(answers[1], "files", None)
        assert (await other.describe()).task == name
        assert (await other.commit(answers[0])).units == task.units
        for wrong in task.refused:
            with pytest.raises(demur.InvalidInput):
                await other.predict(wrong)

        async def questions():
            for item in (question, *task.refused, task.question(2)):
                await asyncio.sleep(0)
                yield item

        stand_in.early = 1  # sentences of a translation that are told before its result
        outcomes = [outcome async for outcome in other.predict_many(questions())]
        failed = [isinstance(outcome, demur.ChunkError | demur.ScanError) for outcome in outcomes]
        assert failed == [False, *[True] * len(task.refused), False]
        stand_in.most_unanswered = 0
        assert len([outcome async for outcome in other.predict_many([question] * 9, window=1)]) == 9
        assert stand_in.most_unanswered == 1
        async with aclosing(other.predict_many(question for _ in iter(int, 1))) as stream:
            await anext(stream)
        await asyncio.to_thread(stand_in.ended.wait, 5)
        assert stand_in.ended.is_set()
