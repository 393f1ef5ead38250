"""Answers about the motion of vehicles in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from demur._motion_answer import MotionAnswer, MotionAnswers

SHOWN_SECONDS = (1.0, 3.0, 5.0)
"""Of a trajectory, in a summary."""


def named(answer: MotionAnswer) -> str:
    """The request, such as ``scene 3dbc, track 4308``; ``request 2`` where neither is known."""
    agent = answer.agent
    if not agent.scene_id and not agent.track_id:
        return f"request {answer.item}"
    scene = f"scene {agent.scene_id}, " if agent.scene_id else ""
    return f"{scene}track {agent.track_id}"


def outcome(answer: MotionAnswer) -> str:
    """What was found and decided, such as ``41.2 m ahead, 0.3 m left in 5 s with 0.62, answered``."""
    if answer.best is None or answer.confidences is None or not len(answer.best):
        return f"{answer.verdict}, prediction withheld"
    ahead, left = answer.best[-1]
    where = f"{_along(ahead, 'ahead', 'behind')}, {_along(left, 'left', 'right')}"
    return f"{where} in {answer.times[-1]:g} s with {answer.confidences[0]:.2f}, {answer.verdict}"


def outcome_of_all(answers: MotionAnswers) -> str:
    """How many requests there are of each kind, such as ``3 requests, 1 deferred, 0 shifted, 1 failed``."""
    count = len(answers) + len(answers.failures)
    deferred, shifted = sum(one.deferred for one in answers), sum(one.shifted for one in answers)
    failed = f", {len(answers.failures)} failed" if answers.failures else ""
    return f"{count} request{'' if count == 1 else 's'}, {deferred} deferred, {shifted} shifted{failed}"


def text(answer: MotionAnswer) -> str:
    """Some lines: decision, trajectories, spread, remarks."""
    return "\n".join(_lines(answer))


def text_of_all(answers: MotionAnswers) -> str:
    """The lines of each request, and of those that failed."""
    failed = [f"track {one.track_id}: failed: {one.error}" for one in answers.failures]
    return "\n".join([*(text(one) for one in answers), *failed])


def _lines(answer: MotionAnswer) -> Iterator[str]:
    yield f"{named(answer)}: {answer.verdict}"
    yield f"  {answer.comparison}, policy {answer.policy}"
    if answer.shifted:
        yield f"  unlike the training requests: {', '.join(answer.shift_reasons)}"
    if answer.unseen_seconds is not None:
        yield f"  last seen {answer.unseen_seconds:.1f} s ago"
    if answer.trajectories is not None and answer.confidences is not None:
        shown = [(second, int(np.argmin(abs(answer.times - second)))) for second in SHOWN_SECONDS]
        heads = "".join(f"{f'{second:g} s':>16}" for second, _ in shown)
        yield f"   #  confidence       {heads}   m ahead, m to the left"
        for number, (plan, share) in enumerate(zip(answer.trajectories, answer.confidences, strict=True), 1):
            places = "".join(f"{f'{plan[step, 0]:.1f}, {plan[step, 1]:.1f}':>16}" for _, step in shown)
            yield f"  {number:>2}  {share:>10.2f}       {places}"
        spreads = {"total": answer.total, "data": answer.data, "knowledge": answer.knowledge}
        for name, values in spreads.items():
            if values is not None:
                yield f"  {name + ' spread':<21}" + "".join(f"{values[step]:>16.2f}" for _, step in shown) + "   m²"
    else:
        yield "  prediction withheld"
    for remark in answer.remarks:
        yield f"  {remark.code}: {remark.message}"
    yield f"  {answer.origin}"


def _along(metres: float, positive: str, negative: str) -> str:
    return f"{abs(metres):.1f} m {positive if metres >= 0 else negative}"
