"""Live errors are those of ``demur evaluate`` on the same predictions and labels, for every head of every task."""

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import nibabel
import numpy as np
import pytest

from models.assessment.segmentation import ndsc
from models.evaluation.unit_errors import ErrorOptions
from models.label_errors import label_rule
from models.predictive import Categorical, Gaussian, Sequences, Trajectories, Volumes
from models.tasks.lesion.data import predictions as lesion_predictions
from models.tasks.lesion.spec import LESIONS
from models.tasks.motion.data import predictions as motion_predictions
from models.tasks.motion.spec import TRAJECTORIES
from models.tasks.translation.data import predictions as translation_predictions
from models.tasks.translation.spec import HYPOTHESES
from models.tasks.vessel.spec import POWER
from models.tasks.weather import spec as weather
from models.tasks.weather.data import predictions as weather_predictions
from tests.models.lesion.nifti import SHAPE, scan

CUBE = (6, 6, 6)

N = 12
EVERY = np.arange(N)


def test_numbers() -> None:
    rng = np.random.default_rng(1)
    mean, truth = rng.normal(9000, 2000, N).astype("f4"), rng.normal(9000, 2000, N)
    judge = label_rule(POWER)
    evidence = judge.evidence(Gaussian(mean, np.ones(N, "f4")), EVERY)
    errors = judge.errors(evidence, [judge.label(value) for value in truth.tolist()])
    assert errors.tolist() == ((truth - mean.astype(float)) ** 2).tolist()


def test_classes(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    members = rng.dirichlet(np.ones(9), (3, N))
    truth = rng.integers(0, 9, N)
    truth[:4] = members.mean(axis=0).argmax(axis=1)[:4]
    path = tmp_path / "p.npz"
    np.savez(path, members=members, target=truth)
    expected = weather_predictions.read(path, ErrorOptions()).errors["error_rate"].values
    judge = label_rule(weather.PRECIPITATION)
    evidence = judge.evidence(Categorical(members.mean(axis=0)), EVERY)
    errors = judge.errors(evidence, [judge.label(value) for value in truth.tolist()])
    assert errors.tolist() == expected.tolist()
    assert 0 < errors.sum() < N


def test_texts(tmp_path: Path) -> None:
    pytest.importorskip("sacrebleu")
    rng = np.random.default_rng(3)
    words = np.array(["a", "short", "list", "of", "words", "that", "come", "and", "go"])
    texts = [[" ".join(rng.choice(words, rng.integers(1, 9))) for _ in range(4)] for _ in range(N)]
    references = [" ".join(rng.choice(words, 6)) for _ in range(N)]
    references[0] = texts[0][0]
    score = -rng.random((N, 4))
    confidence = np.exp(score) / np.exp(score).sum(axis=1, keepdims=True)
    path, truth = tmp_path / "p.json", tmp_path / "r.json"
    path.write_text("".join(_line(row, texts[row], confidence[row].tolist()) for row in range(N)))
    truth.write_text("".join(json.dumps({"id": row, "ref": references[row]}) + "\n" for row in range(N)))
    expected = (
        translation_predictions.read(path, ErrorOptions(companions={"references": str(truth)}))
        .errors["egleu_error"]
        .values
    )
    judge = label_rule(HYPOTHESES)
    evidence = judge.evidence(Sequences(score, texts=texts), EVERY)
    errors = judge.errors(evidence, [judge.label(text) for text in references])
    assert errors == pytest.approx(expected, rel=1e-13)
    assert len(set(errors.tolist())) > N // 2


def _line(row: int, texts: list[str], confidences: list[float]) -> str:
    hypotheses = [{"text": text, "confidence": share} for text, share in zip(texts, confidences, strict=True)]
    return json.dumps({"id": row, "uncertainty": 0.0, "hypos": hypotheses}) + "\n"


def test_trajectories(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    plans = rng.normal(size=(N, 5, 25, 2)).astype("f4")
    weights = rng.dirichlet(np.ones(5), N).astype("f4")
    weights[0, 2:] = 0
    weights[0, :2] = 0.5
    target = rng.normal(size=(N, 25, 2))
    path = tmp_path / "p.npz"
    np.savez(path, trajectories=plans, weights=weights, target=target, uncertainty=np.zeros(N))
    expected = motion_predictions.read(path, ErrorOptions()).errors["cnll"].values
    judge = label_rule(TRAJECTORIES)
    evidence = judge.evidence(Trajectories(plans, weights, np.zeros(N)), EVERY)
    errors = judge.errors(evidence, [judge.label(steps) for steps in target.tolist()])
    assert errors == pytest.approx(expected, rel=1e-13)
    flat = judge.errors(evidence, [judge.label(steps.ravel().tolist()) for steps in target])
    assert flat.tolist() == errors.tolist()


def test_masks(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    truths = [rng.random(SHAPE) < 0.1 for _ in range(4)]
    masks = [np.roll(truth, 1, axis=0) | truth for truth in truths]
    masks[3], truths[3] = np.zeros(SHAPE, bool), np.zeros(SHAPE, bool)
    for number, (truth, mask) in enumerate(zip(truths, masks, strict=True)):
        scan(tmp_path, str(number), gt_isovox=truth, pred_seg=mask)
    expected = lesion_predictions.read(tmp_path, ErrorOptions()).errors["ndsc_error"].values
    judge = label_rule(LESIONS)
    evidence = judge.evidence(Volumes([], masks, np.zeros(4)), np.arange(4))
    files = [(tmp_path / f"{number}_gt_isovox.nii.gz").read_bytes() for number in range(4)]
    labels = [judge.label(content) for content in files]
    assert judge.errors(evidence, labels).tolist() == expected.tolist()
    assert len({0.0, *expected.tolist()}) == 4
    assert labels == [judge.label(_npy(truth)) for truth in truths], "one canonical form of both kinds of file"
    assert labels == [judge.label(nibabel.Nifti1Image(t.astype("i2"), np.eye(4)).to_bytes()) for t in truths]


def test_masks_are_compared_where_they_lie() -> None:
    """The same voxels in another order are judged alike; other voxels have no error, never a wrong one."""
    rng = np.random.default_rng(6)
    mask, truth = rng.random(CUBE) < 0.3, rng.random(CUBE) < 0.3
    affine = np.array([[-1.0, 0, 0, 40], [0, 1, 0, -60], [0, 0, 1, -30], [0, 0, 0, 1]])
    image = nibabel.Nifti1Image(truth.astype("u1"), affine)
    turned = nibabel.as_closest_canonical(image)
    shifted = nibabel.Nifti1Image(truth.astype("u1"), affine + np.eye(4, k=3))
    silent = nibabel.Nifti1Image(truth.astype("u1"), None)
    judge = label_rule(LESIONS)
    units = np.arange(1)
    (evidence,) = judge.evidence(Volumes([], [mask], np.zeros(1), affines=[affine]), units)
    (unplaced,) = judge.evidence(Volumes([], [mask], np.zeros(1)), units)

    def errors(file: Any, own: bytes = evidence) -> float:
        content = file if isinstance(file, bytes) else file.to_bytes()
        return float(judge.errors([own], [judge.label(content)])[0])

    expected = 1 - ndsc(truth, mask)
    assert expected != 1 - ndsc(truth[::-1], mask), "order matters"
    assert [errors(volume) for volume in (image, turned, silent, _npy(truth))] == [expected] * 4
    assert np.isnan(errors(shifted))
    assert errors(image, unplaced) == expected
    kept = judge.value(judge.label(turned.to_bytes()))
    assert isinstance(kept, bytes)
    assert errors(kept) == expected, "what is told of a label says where it lies"


def _npy(values: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, values)
    return file.getvalue()


def test_what_cannot_be_judged_has_no_error() -> None:
    """Neither zero nor an exception: what is broken is told by NaN, and neighbours are judged."""
    nan = np.nan
    steps = np.zeros((25, 2)).tolist()
    partial = [[0.0, 0.0], None, [1.0, 1.0]]
    cases: list[tuple[Any, Any, list[Any], list[bool]]] = [
        (POWER, Gaussian(np.array([1, nan], "f4"), np.ones(2, "f4")), [1.0, 1.0], [True, False]),
        (weather.PRECIPITATION, Categorical(np.array([[1.0] + [0] * 8, [nan] * 9])), [0, 0], [True, False]),
        (
            TRAJECTORIES,
            Trajectories(np.zeros((3, 2, 25, 2)), np.array([[0.5, 0.5], [0.5, 0.5], [nan, 1]]), np.zeros(3)),
            [steps, partial, steps],
            [True, False, False],
        ),
        (
            LESIONS,
            Volumes([], [np.zeros(SHAPE, bool), np.zeros((3, 3, 3), bool)], np.zeros(2)),
            [_npy(np.zeros(SHAPE))] * 2,
            [True, False],
        ),
    ]
    for head, predictive, labels, known in cases:
        judge = label_rule(head)
        evidence = judge.evidence(predictive, np.arange(len(labels)))
        errors = judge.errors(evidence, [judge.label(value) for value in labels])
        assert np.isfinite(errors).tolist() == known, head.name
    judge = label_rule(HYPOTHESES)
    evidence = judge.evidence(Sequences(np.array([[0.0, -1], [nan, 0]]), texts=[["a", "b"]] * 2), np.arange(2))
    assert np.isfinite(judge.errors(evidence, [judge.label("a")] * 2)).tolist() == [True, False]


def test_texts_are_no_statistics() -> None:
    with pytest.raises(ValueError, match="needs the texts of 2 units"):
        label_rule(HYPOTHESES).evidence(Sequences(np.zeros((2, 2))), np.arange(2))
    with pytest.raises(ValueError, match="unit 1 has 1 texts and 2 scores"):
        label_rule(HYPOTHESES).evidence(Sequences(np.zeros((2, 2)), texts=[["a", "b"], ["a"]]), np.arange(2))


def test_a_head_without_judging_is_named() -> None:
    with pytest.raises(LookupError, match=r"no live judging of 'other' \(head power\)"):
        label_rule(replace(POWER, error="other"))
