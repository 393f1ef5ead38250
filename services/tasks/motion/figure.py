"""Figure of a predicted request, from the answer and the scene or map of the request."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import demur
from models.tasks.motion.errors import request_errors
from models.tasks.motion.inference import maps, scenes
from models.tasks.motion.inference.grid import OFFICIAL
from models.tasks.motion.inference.scenes import Scene
from models.tasks.motion.pictures.picture import Picture, draw
from models.tasks.motion.pictures.surroundings import Cells, Surroundings, future, surroundings

_SHOWN_ID, _SHOWN_REMARKS = 34, 3
_ERRORS = {"minade": "min ADE {:.2f} m", "weightedade": "weighted ADE {:.2f} m", "cnll": "cNLL {:.1f} nats"}


def figure(answer: demur.MotionAnswer, source: Scene | bytes, name: str = "") -> bytes:
    """Return the PNG of a request whose prediction is not withheld.

    Args:
        source: the scene, or the content of a prerendered map on the official grid.
        name: title if neither scene nor track is known.

    Raises:
        BadFile: matplotlib is not installed.
        BadScene: the scene or map cannot be read.
        ValueError: the prediction is withheld.
    """
    if answer.trajectories is None or answer.confidences is None or answer.total is None:
        raise ValueError("the prediction is withheld")
    truth = None
    around: Surroundings | Cells
    decided, judged = [answer.comparison.replace("_", " ")], []
    if isinstance(source, Scene):
        agent = scenes.agent(source, answer.agent.track_id)
        around, truth = surroundings(source, agent), future(source, agent)
        decided.insert(0, f"{agent.speed:.1f} m/s")
        if agent.unseen_steps:
            decided.insert(1, f"last seen {agent.unseen_steps * scenes.STEP_S:.1f} s ago")
    else:
        around = Cells(maps.read_rendered(source, OFFICIAL), OFFICIAL.resolution)
    if truth is not None and truth.shape == answer.trajectories.shape[1:] and np.isfinite(truth).all():
        judged += _errors(truth, answer.trajectories, answer.confidences)
    codes = [remark.code.replace("_", " ") for remark in answer.remarks]
    judged += [*codes[:_SHOWN_REMARKS], *(["…"] if len(codes) > _SHOWN_REMARKS else [])]
    return draw(
        Picture(
            around=around,
            plans=answer.trajectories,
            confidences=answer.confidences,
            total=answer.total,
            data=answer.data,
            knowledge=answer.knowledge,
            truth=truth,
            title=f"{_title(answer) or name}: {answer.verdict}",
            details=tuple("   ·   ".join(line) for line in (decided, judged) if line),
        )
    )


def read(path: Path) -> Scene | bytes:
    """Return the scene of a file, or the content of a prerendered map.

    Raises:
        BadScene: the file is not a scene.
    """
    content = path.read_bytes()
    return content if path.name.endswith(".npy") else scenes.parse(content)


def _title(answer: demur.MotionAnswer) -> str:
    scene, track = answer.agent.scene_id, answer.agent.track_id
    if not scene and not track:
        return ""
    short = scene if len(scene) <= _SHOWN_ID else f"{scene[: _SHOWN_ID // 2]}…{scene[-_SHOWN_ID // 2 :]}"
    return f"Scene {short}, track {track}" if scene else f"Track {track}"


def _errors(truth: NDArray[Any], plans: NDArray[Any], weights: NDArray[Any]) -> list[str]:
    errors = request_errors(truth[None], plans[None], weights[None])
    return [text.format(errors[name][0]) for name, text in _ERRORS.items()]
