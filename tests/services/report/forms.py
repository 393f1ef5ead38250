"""Small files of every form that is judged, read as ``demur evaluate`` reads them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from models.evaluation import classification, generic, regression
from models.evaluation.unit_errors import ErrorOptions, UnitErrors
from models.tasks.lesion.data import predictions as lesion
from models.tasks.motion.data import predictions as motion
from models.tasks.translation.data import predictions as translation
from models.tasks.vessel.data import predictions as vessel
from models.tasks.weather.data import predictions as weather
from tests.models.lesion.nifti import SHAPE, box, scan

UNITS = 240
Read = Callable[[Path, ErrorOptions], UnitErrors]


def _saved(path: Path, **arrays: Any) -> Path:
    np.savez(path, **arrays)
    return path


def _shifted(n: int = UNITS) -> np.ndarray:
    return np.arange(n) >= n // 2


def _generic(folder: Path) -> list[UnitErrors]:
    rng = np.random.default_rng(3)
    uncertainty = rng.gamma(2, 1, UNITS)
    rows = zip(uncertainty * rng.gamma(2, 1, UNITS), uncertainty, _shifted(), strict=True)
    path = folder / "rows.csv"
    path.write_text("error,uncertainty,shifted\n" + "".join(f"{e},{u},{s:d}\n" for e, u, s in rows))
    return [generic.read(path, ErrorOptions(acceptable=3.0))]


def _normals(folder: Path, read: Read, level: float, spread: float, **options: Any) -> list[UnitErrors]:
    """An ensemble of four and two of its members as files of their own."""
    rng = np.random.default_rng(4)
    noise = spread * np.exp(rng.normal(0, 0.5, UNITS)) * np.where(_shifted(), 1.6, 1.0)
    target = level + 4 * spread * rng.normal(size=UNITS)
    mean = target + noise * rng.normal(size=UNITS) + 0.4 * noise * rng.normal(size=(4, UNITS))
    members = np.stack([mean, np.broadcast_to(noise**2, mean.shape)], axis=-1)
    shared = {"target": target, "shifted": _shifted(), "site": np.array(["north", "south"] * (UNITS // 2))}
    return [
        read(_saved(folder / f"{name}.npz", members=members[kept], **shared), ErrorOptions(by=("site",), **options))
        for name, kept in (("ensemble", slice(None)), ("first-member", slice(0, 1)), ("last-member", slice(3, 4)))
    ]


def _classes(folder: Path, read: Read, classes: int) -> list[UnitErrors]:
    rng = np.random.default_rng(5)
    target = rng.choice(classes, UNITS, p=rng.dirichlet(np.full(classes, 2.0)))
    logits = rng.normal(0, 1.3, (3, UNITS, classes)) + 2.4 * (np.arange(classes) == target[:, None])
    logits /= np.where(_shifted(), 1.8, 1.0)[:, None]
    members = np.exp(logits) / np.exp(logits).sum(axis=2, keepdims=True)
    return [read(_saved(folder / "classes.npz", members=members, target=target, shifted=_shifted()), ErrorOptions())]


def _motion(folder: Path) -> list[UnitErrors]:
    rng = np.random.default_rng(6)
    spread = rng.gamma(2, 0.4, UNITS) * np.where(_shifted(), 2.0, 1.0)
    steps = np.linspace(0.2, 5, 25)
    target = np.stack([np.outer(rng.normal(8, 2, UNITS), steps), np.outer(rng.normal(0, 1, UNITS), steps)], axis=2)
    drift = rng.normal(size=(UNITS, 5, 1, 2)) * spread[:, None, None, None] * steps[:, None]
    weights = rng.dirichlet(np.full(5, 2.0), UNITS)
    arrays = {"trajectories": target[:, None] + drift, "target": target, "weights": weights, "shifted": _shifted()}
    return [motion.read(_saved(folder / "modes.npz", uncertainty=spread, **arrays), ErrorOptions())]


def _translation(folder: Path) -> list[UnitErrors]:
    rng = np.random.default_rng(7)
    vocabulary = [
        f"{first}{last}" for first in ("sh", "m", "tr", "b", "k") for last in ("ip", "ow", "ate", "un", "ill")
    ]
    truths, records = [], []
    for row, far in enumerate(_shifted()):
        words = rng.choice(vocabulary, rng.integers(6, 18)).tolist()
        wrong = min(0.9, rng.gamma(2, 0.16 if far else 0.08))
        texts = [
            " ".join(str(rng.choice(vocabulary)) if rng.random() < wrong else word for word in words) for _ in range(4)
        ]
        confidences = rng.dirichlet(np.full(4, 2.0)).tolist()
        hypotheses = [
            {"text": text, "confidence": confidence} for text, confidence in zip(texts, confidences, strict=True)
        ]
        records.append({"id": row, "uncertainty": float(wrong * rng.gamma(8, 0.125)), "hypos": hypotheses})
        truths.append(" ".join(words))
    paths = {name: folder / f"{name}.txt" for name in ("references", "domains")}
    paths["references"].write_text("\n".join(truths) + "\n")
    paths["domains"].write_text("".join(f"{far:d}\n" for far in _shifted()))
    predictions = folder / "predictions.jsonl"
    predictions.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    return [translation.read(predictions, ErrorOptions(companions=paths))]


def _lesion(folder: Path) -> list[UnitErrors]:
    rng = np.random.default_rng(8)
    for site, scans in (("dev_in", 9), ("dev_out", 9)):
        for number in range(scans):
            truth = box(1) | box(5)
            member = [np.clip(0.8 * np.roll(truth, rng.integers(0, 3), 0) + 0.1, 0, 1) for _ in range(2)]
            maps = {"pred_seg": member[0] > 0.5, "uncs_rmi": rng.random(SHAPE) * (1 + number)}
            members = {f"pred_prob_member{place}": probabilities for place, probabilities in enumerate(member, 1)}
            scan(folder / site, f"{number}", number, gt_isovox=truth, **maps, **members)
    return [lesion.read(folder, ErrorOptions(by=("folder",)))]


FORMS: dict[str, Callable[[Path], list[UnitErrors]]] = {
    "generic": _generic,
    "regression": lambda folder: _normals(folder, regression.read, 0.0, 1.0, acceptable=1.0),
    "vessel": lambda folder: _normals(folder, vessel.read, 9000.0, 400.0)[:1],
    "temperature": lambda folder: _normals(folder, weather.read, 9.0, 1.2)[:1],
    "precipitation": lambda folder: _classes(folder, weather.read, 9),
    "classification": lambda folder: _classes(folder, classification.read, 3),
    "motion": _motion,
    "translation": _translation,
    "lesion": _lesion,
}
"""Name of the form to its files, of one prediction each or of several about the same units."""
