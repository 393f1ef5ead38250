"""Replay sets: written beside an artefact, shared by a task, read back, and refused where they are damaged."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from models import artefact, npz, replay
from models.artefact import MANIFEST, Artefact, ArtefactError
from models.building import Provenance
from models.executors.device import instruction_set
from models.manifest import REPLAY_SCORES, Manifest
from models.tasks.vessel.artefact import replay_set

REFERENCE = Path(__file__).parents[2] / "artefacts" / "vessel"


def bare(folder: Path, name: str = "dnn-1") -> Artefact:
    """A reference artefact without its replay set."""
    return replay.detached(artefact.copy(artefact.read(REFERENCE / name), folder))


def inputs(units: int = 60, seed: int = 0) -> bytes:
    with np.load(REFERENCE / "dnn-1" / "golden.npz") as golden:
        rows = golden["rows"][1:49]
    draw = np.random.default_rng(seed)
    known = rows[draw.integers(len(rows), size=units)] * draw.uniform(0.99, 1.01, (units, 1)).astype(np.float32)
    return replay_set.encode(known, known[:0], units)


@pytest.fixture
def attached(tmp_path: Path) -> Artefact:
    return replay.attach(bare(tmp_path / "vessel" / "dnn-1"), inputs(), "drawn for a test; CC0-1.0")


def test_a_set_is_written_and_read_back(attached: Artefact) -> None:
    manifest = attached.manifest
    assert manifest.replay is not None
    assert manifest.format == artefact.format_of(manifest.replay, manifest.training_inputs)
    assert (manifest.replay.units, manifest.replay.profile) == (60, "cpu-fp32-stacked")
    assert (manifest.replay.cpu, manifest.replay.source) == (instruction_set(), "drawn for a test; CC0-1.0")
    scores = replay.reference(attached)
    assert set(scores) == {"power"}
    assert set(scores["power"]) >= {"mvar", "mean"}
    opened = replay.replayer(attached)
    assert opened.units == 60
    for batch in replay.batches(opened):
        again = opened(0, 60, batch)
        for name, values in scores["power"].items():
            np.testing.assert_allclose(again["power"][name], values, rtol=1e-4, atol=1e-4 * np.abs(values).max())


def test_the_format_follows_from_what_an_artefact_has(attached: Artefact) -> None:
    replayed = attached.manifest.replay
    assert [artefact.format_of(None, ""), artefact.format_of(replayed, "")] == [1, 2]
    assert [artefact.format_of(None, "a.npz"), artefact.format_of(replayed, "a.npz")] == [3, 3]


def test_an_artefact_without_a_set_does_not_name_one(tmp_path: Path) -> None:
    plain = bare(tmp_path / "a")
    document = json.loads((plain.directory / MANIFEST).read_bytes())
    assert "replay" not in document
    for read in (replay.reference, replay.replayer):
        with pytest.raises(ArtefactError, match="has no replay set: run `demur models qualify"):
            read(plain)


def test_the_card_names_the_set_once(attached: Artefact) -> None:
    again = replay.attach(attached, inputs(units=50), "another source")
    text = again.path("MODEL_CARD.md").read_text()
    assert "\n\n## Replay set\n\n50 units" in text
    assert text.count("## Replay set") == 1
    assert "another source" in text


def test_a_set_can_be_taken_out_again(attached: Artefact, tmp_path: Path) -> None:
    names = set(attached.manifest.files)
    detached = replay.detached(attached)
    assert names - set(detached.manifest.files) == {
        REPLAY_SCORES,
        *(name for name in names if name.startswith("replay-")),
    }
    assert "Replay set" not in detached.path("MODEL_CARD.md").read_text()
    assert detached.tag == bare(tmp_path / "other").tag
    assert replay.detached(detached) == detached


def test_attaching_again_replaces_and_the_same_again_changes_nothing(attached: Artefact) -> None:
    tag, before = attached.tag, attached.manifest.replay
    assert before is not None
    assert replay.attach(attached, inputs(), before.source).tag == tag
    other = replay.attach(attached, inputs(seed=1), before.source)
    assert other.tag != tag
    assert sorted(path.name for path in other.directory.iterdir()) == sorted([*other.manifest.files, MANIFEST])
    assert before.inputs not in other.manifest.files


def test_parts_of_a_set_have_the_scores_of_the_whole(attached: Artefact) -> None:
    opened = replay.replayer(attached)
    whole = opened(0, 60, 7)["power"]["mean"]
    parts = [opened(first, 20, 20)["power"]["mean"] for first in (0, 20, 40)]
    np.testing.assert_allclose(np.concatenate(parts), whole, rtol=1e-5)
    for first, count, batch in ((0, 61, 7), (-1, 2, 7), (59, 2, 1), (0, 0, 1)):
        with pytest.raises(ValueError, match="the replay set has units 0 to 59"):
            opened(first, count, batch)
    with pytest.raises(ValueError, match="batch = 0: must be 1"):
        opened(0, 1, 0)


def test_artefacts_of_a_task_share_their_inputs(tmp_path: Path) -> None:
    content = inputs()
    tags = []
    for name in ("dnn-1", "symbolic-1"):
        with_replay = replay.attach(bare(tmp_path / "vessel" / name, name), content, "a source")
        shared = artefact.share(with_replay)
        assert shared.tag == with_replay.tag
        assert with_replay.manifest.replay is not None
        assert shared.path(with_replay.manifest.replay.inputs).parent == tmp_path / "vessel"
        assert artefact.share(shared) == shared, "once more changes nothing"
        tags.append(shared.tag)
    assert [path.name for path in (tmp_path / "vessel").glob("*.npz")] == [artefact.inputs_name(_sha256(content))]
    alone = artefact.copy(shared, tmp_path / "elsewhere" / "m")
    assert alone.tag == tags[1]
    assert replay.replayer(alone).units == 60


def test_missing_shared_inputs_are_refused_with_both_places(attached: Artefact) -> None:
    shared = artefact.share(attached)
    assert shared.manifest.replay is not None
    (shared.directory.parent / shared.manifest.replay.inputs).unlink()
    with pytest.raises(ArtefactError, match="neither in this folder nor in .*copy it into one of the two"):
        artefact.read(shared.directory)


def test_altered_or_linked_shared_inputs_are_refused(attached: Artefact, tmp_path: Path) -> None:
    shared = artefact.share(attached)
    assert shared.manifest.replay is not None
    place = shared.directory.parent / shared.manifest.replay.inputs
    content = place.read_bytes()
    place.write_bytes(content[:-1] + b"\1")
    with pytest.raises(ArtefactError, match=r"replay-[0-9a-f]{16}\.npz: corrupt"):
        artefact.read(shared.directory)
    (tmp_path / "target").write_bytes(content)
    place.unlink()
    place.symlink_to(tmp_path / "target")
    with pytest.raises(ArtefactError, match="not a plain file name"):
        artefact.read(shared.directory)


def test_no_other_file_may_lie_in_the_parent_folder(attached: Artefact) -> None:
    for name in (REPLAY_SCORES, "golden.npz"):
        copied = artefact.copy(attached, attached.directory.parent / "copy")
        shutil.move(copied.directory / name, copied.directory.parent / name)
        with pytest.raises(ArtefactError, match=f"{name}: cannot be read"):
            artefact.read(copied.directory)


CHANGES: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "a path": (lambda r: r.update(inputs="../replay-0123456789abcdef.npz"), "replay.inputs"),
    "another name": (lambda r: r.update(inputs="replay-0123456789abcdef.npz"), "without listing them"),
    "unlisted scores": (lambda r: r.update(scores="other.npz"), "without listing them"),
    "no units": (lambda r: r.update(units=0), "units"),
    "an unknown field": (lambda r: r.update(colour="red"), "colour"),
    "other units": (lambda r: r.update(units=61), r"float32 \[61\] is needed|holds 60 units"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_manifests_that_are_refused(attached: Artefact, change: str) -> None:
    alter, reason = CHANGES[change]
    path = attached.directory / MANIFEST
    document = json.loads(path.read_bytes())
    alter(document["replay"])
    path.write_text(json.dumps(document))
    for read in (replay.reference, replay.replayer):
        with pytest.raises(ArtefactError, match=reason):
            read(artefact.read(attached.directory))


def test_inputs_under_another_name_than_their_hash_are_refused(attached: Artefact) -> None:
    path = attached.directory / MANIFEST
    document = json.loads(path.read_bytes())
    old, new = document["replay"]["inputs"], "replay-0123456789abcdef.npz"
    document["replay"]["inputs"] = new
    document["files"][new] = document["files"].pop(old)
    path.write_text(json.dumps(document))
    (attached.directory / old).rename(attached.directory / new)
    with pytest.raises(ArtefactError, match="do not have the name of their sha256"):
        artefact.read(attached.directory)


SCORES: dict[str, tuple[dict[str, Any] | bytes, str]] = {
    "no archive": (b"PK nonsense", "no archive of arrays"),
    "cut off": (b"", "no archive of arrays"),
    "another head": ({"speed.mean": np.zeros(60, np.float32)}, "is not a measure of the heads power"),
    "no measure": ({"power": np.zeros(60, np.float32)}, "is not a measure"),
    "other units": ({"power.mean": np.zeros(59, np.float32)}, r"float32 \[60\] is needed"),
    "other numbers": ({"power.mean": np.zeros(60)}, r"float32 \[60\] is needed"),
    "nothing": ({}, "holds no scores of the head 'power'"),
}


@pytest.mark.parametrize("case", SCORES)
def test_damaged_scores_are_refused(attached: Artefact, case: str) -> None:
    content, reason = SCORES[case]
    with pytest.raises(ArtefactError, match=reason):
        replay.reference(with_file(attached, REPLAY_SCORES, content))


INPUTS: dict[str, tuple[dict[str, Any] | bytes, str]] = {
    "no archive": (b"nonsense", "no archive of arrays"),
    "no rows": ({"lines": np.zeros((60, 10), np.float32)}, "'rows' is missing; it holds lines"),
    "too few features": ({"rows": np.zeros((60, 9), np.float32)}, r"float32 \['any', 10\] is needed"),
    "other numbers": ({"rows": np.zeros((60, 10))}, "float32"),
    "fewer units": ({"rows": np.zeros((59, 10), np.float32)}, "holds 59 units, the manifest says 60"),
}


@pytest.mark.parametrize("case", INPUTS)
def test_damaged_inputs_are_refused(attached: Artefact, case: str) -> None:
    content, reason = INPUTS[case]
    assert attached.manifest.replay is not None
    with pytest.raises(ArtefactError, match=reason):
        replay.replayer(with_file(attached, attached.manifest.replay.inputs, content))


def test_a_task_without_replay_sets_is_refused_by_name(attached: Artefact) -> None:
    for task in ("toy", "..vessel", "rules"):
        manifest = msgspec.structs.replace(attached.manifest, task=task)
        with pytest.raises(ArtefactError, match=r"cannot be scored here"):
            replay.replayer(Artefact(attached.directory, manifest, attached.version))


def test_the_choice_is_two_thirds_in_domain_and_never_much_less() -> None:
    for known, shifted, count, expected in (
        (1000, 1000, 90, (60, 30)),
        (1000, 10, 90, (80, 10)),
        (20, 1000, 90, (20, 10)),
        (0, 1000, 90, (0, 0)),
        (20, 10, 90, (20, 10)),
        (50, 0, 30, (30, 0)),
    ):
        inside, outside = replay.chosen(known, shifted, count)
        assert (len(inside), len(outside)) == expected
        assert len(set(inside.tolist())) == len(inside)
        again = replay.chosen(known, shifted, count)
        assert all(np.array_equal(first, other) for first, other in zip((inside, outside), again, strict=True))


def test_the_source_of_labelled_units_names_their_licence() -> None:
    assert "CC-BY-4.0" in replay.units_of(Provenance("harbour logs", "CC-BY-4.0"))


def with_file(target: Artefact, name: str, content: dict[str, Any] | bytes) -> Artefact:
    """The artefact with a file altered after it was verified."""
    (target.directory / name).write_bytes(content if isinstance(content, bytes) else npz.encode(content))
    return target


def _sha256(content: bytes) -> str:
    import hashlib

    return hashlib.sha256(content).hexdigest()


REFERENCES = sorted((Path(__file__).parents[2] / "artefacts").glob(f"*/*/{MANIFEST}"))
LEAST = {"vessel": 4000, "weather": 2000, "translation": 300, "motion": 300, "lesion": 24}
MEGABYTES = {"vessel": 3, "weather": 16, "translation": 40, "motion": 16, "lesion": 40}


@pytest.mark.parametrize("path", REFERENCES, ids=lambda path: f"{path.parent.parent.name}-{path.parent.name}")
def test_reference_artefacts_have_a_set_that_is_large_enough(path: Path) -> None:
    reference = artefact.read(path.parent)
    manifest: Manifest = reference.manifest
    assert manifest.replay is not None
    assert manifest.replay.units >= LEAST[manifest.task]
    assert reference.path(manifest.replay.inputs).parent == path.parent.parent, "shared by the task's artefacts"
    scores = replay.reference(reference)
    for head, by_profile in manifest.heads.items():
        (calibration,) = by_profile.values()
        names = {calibration.retention.measure, *calibration.others, *calibration.reference}
        assert names <= set(scores[head])
        own = scores[head][calibration.retention.measure]
        for level in (0.8, 0.9):
            answered = float((own <= np.float32(calibration.retention.threshold(level))).mean())
            assert 0.02 <= answered <= 0.98, f"scores lie on both sides of the threshold of {level}"
        assert all(np.isfinite(values).all() for values in scores[head].values())


@pytest.mark.parametrize("task", MEGABYTES)
def test_reference_artefacts_stay_within_their_budget(task: str) -> None:
    folder = Path(__file__).parents[2] / "artefacts" / task
    assert len(list(folder.glob("replay-*.npz"))) == 1, "one file of inputs"
    assert sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) <= MEGABYTES[task] * 1e6


REPRODUCED = {
    "vessel/dnn-10": (200, 1e-3),
    "vessel/mc_dropout-1x10": (200, 1e-3),
    "weather/catboost-10": (64, 2e-3),
    "weather/combined-15": (32, 2e-3),
    "motion/bc-5": (3, 1e-3),
    "motion/dim-5": (3, 1e-3),
    "lesion/unet-5": (2, 1e-2),
}
"""Reference artefact to units, and the largest difference of a score relative to its size and their median: other
processors round differently. Structural uncertainty is a share of voxels, some of which flip."""


@pytest.mark.parametrize("name", REPRODUCED)
def test_reference_scores_are_those_of_this_cpu(name: str) -> None:
    count, tolerance = REPRODUCED[name]
    reference = artefact.read(REFERENCE.parent / name)
    opened, expected = replay.replayer(reference), replay.reference(reference)
    for batch in replay.batches(opened)[:2]:
        scores = opened(0, count, batch)
        assert set(scores) == set(expected)
        for head, by_name in scores.items():
            assert set(by_name) == set(expected[head])
            for measure, values in by_name.items():
                recorded = expected[head][measure][:count].astype(np.float64)
                scale = np.abs(recorded) + np.median(np.abs(recorded))
                assert np.max(np.abs(values - recorded) / scale) <= tolerance, (head, measure, batch)


def test_reference_scores_of_eight_bits_rank_sentences_alike() -> None:
    """Activations are rounded by what is decoded beside a sentence: scores differ with it, their ranks hardly do."""
    from scipy.stats import spearmanr

    reference = artefact.read(REFERENCE.parent / "translation" / "transformer-3")
    scores = replay.replayer(reference)(0, 24, 7)["hypotheses"]
    recorded = replay.reference(reference)["hypotheses"]
    assert set(scores) == set(recorded)
    assert spearmanr(scores["scr_pe"], recorded["scr_pe"][:24]).statistic >= 0.98
