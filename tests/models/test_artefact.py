"""Artefacts: written, read and verified; everything foreign or altered is refused with its reason."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models import card
from models.artefact import MANIFEST, Artefact, ArtefactError, name, read, write
from models.calibration import Calibration, retention_table
from models.manifest import Executor, Manifest, Range, Source
from models.schema import Feature, Schema
from models.tasks.vessel.spec import CARD, HEADS

FEATURES = (Feature("speed", "m/s", 0, 20, "Speed."), Feature("wave", "m", 0, 15, "Waves.", nullable=True))
FILES = {"graph.onnx": b"a graph", "golden.npz": b"arrays", "MODEL_CARD.md": b"# Card"}


def manifest(**rest: Any) -> Manifest:
    base: dict[str, Any] = {
        "task": "vessel",
        "family": "dnn",
        "members": 3,
        "schema": FEATURES,
        "schema_hash": Schema(FEATURES).hash,
        "executor": Executor("onnx", "graph.onnx"),
        "heads": {"power": {"cpu-fp32-stacked": Calibration(retention_table("tvar", np.arange(1, 99.0)), {})}},
        "training_range": Range((1.0, 0.0), (12.0, 9.0)),
        "golden": "golden.npz",
        "sources": (Source("train", "simulated", "Apache-2.0", "0123", 100),),
        "seeds": (1, 2, 3),
        "training": {"epochs": 2},
        "quality": {"dev": {"rmse_kw": 1.5}},
        "versions": {"onnx": "1"},
        "files": {},
    }
    return Manifest(**(base | rest))


@pytest.fixture
def written(tmp_path: Path) -> Artefact:
    return write(tmp_path / "model", manifest(), FILES)


def rewrite(original: Artefact, change: Callable[[dict[str, Any]], object]) -> Path:
    """Alters the manifest and leaves the files."""
    path = original.directory / MANIFEST
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))
    return original.directory


def test_what_is_written_can_be_read(written: Artefact) -> None:
    again = read(written.directory, "vessel")
    assert again == written
    assert again.manifest.heads == manifest().heads
    assert again.schema == Schema(FEATURES)
    assert again.tag == f"vessel-dnn-3:{written.version}"
    assert again.path("graph.onnx").read_bytes() == b"a graph"
    assert again.manifest.ensemble


def test_figures_that_do_not_exist_are_left_out(tmp_path: Path) -> None:
    quality = {"dev": {"rmse_kw": 1.5, "f1_auc": math.nan}, "eval": {"rmse_kw": math.inf, "f1_auc": 0.25}}
    made = manifest(quality=quality)
    assert write(tmp_path / "model", made, FILES).manifest.quality == {
        "dev": {"rmse_kw": 1.5},
        "eval": {"f1_auc": 0.25},
    }
    text = card.text(made, HEADS, CARD)
    assert "| dev | 1.5 | – |\n| eval | – | 0.25 |" in text


def test_equal_content_has_equal_versions_and_other_content_has_not(tmp_path: Path) -> None:
    versions = [
        write(tmp_path / str(index), made, files).version
        for index, (made, files) in enumerate(
            [
                (manifest(), FILES),
                (manifest(), dict(reversed(FILES.items()))),
                (manifest(seeds=(1, 2, 4)), FILES),
                (manifest(), FILES | {"graph.onnx": b"another"}),
            ]
        )
    ]
    assert versions[0] == versions[1]
    assert len(set(versions)) == 3
    assert len(versions[0]) == 16


def test_writing_again_replaces(tmp_path: Path) -> None:
    write(tmp_path / "m", manifest(), FILES | {"old.bin": b"x"})
    stored = write(tmp_path / "m", manifest(), FILES)
    assert sorted(path.name for path in stored.directory.iterdir()) == sorted([*FILES, MANIFEST])
    assert [path.name for path in tmp_path.iterdir()] == ["m"]


def test_names_tell_members_and_samples() -> None:
    assert name(manifest()) == "vessel-dnn-3"
    assert name(manifest(family="mc_dropout", samples=10)) == "vessel-mc_dropout-3x10"
    assert not manifest(members=1).ensemble
    assert manifest(members=1, samples=2).ensemble


def test_a_file_that_the_manifest_does_not_name_is_not_opened(written: Artefact) -> None:
    (written.directory / "extra.pkl").write_bytes(b"x")
    again = read(written.directory)
    with pytest.raises(ArtefactError, match=r"'extra.pkl' is not a file of this artefact"):
        again.path("extra.pkl")
    with pytest.raises(ArtefactError):
        again.path(MANIFEST)


def test_altered_files_are_refused(written: Artefact) -> None:
    (written.directory / "graph.onnx").write_bytes(b"a graph!")
    with pytest.raises(ArtefactError, match=r"graph.onnx: corrupt: sha256"):
        read(written.directory)


def test_missing_files_are_refused(written: Artefact) -> None:
    (written.directory / "graph.onnx").unlink()
    with pytest.raises(ArtefactError, match=r"graph.onnx: cannot be read .*No such file"):
        read(written.directory)


def test_links_are_refused(written: Artefact, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_bytes(b"a graph")
    (written.directory / "graph.onnx").unlink()
    (written.directory / "graph.onnx").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ArtefactError, match="not a plain file name"):
        read(written.directory)


@pytest.mark.parametrize("file", ["../model/graph.onnx", "/etc/hostname", "sub/graph.onnx", "..", ".", "", "a\0b"])
def test_names_that_lead_out_of_the_folder_are_refused(written: Artefact, file: str) -> None:
    directory = rewrite(written, lambda m: m["files"].update({file: m["files"]["graph.onnx"]}))
    with pytest.raises(ArtefactError, match="not a plain file name"):
        read(directory)


def test_another_task_is_refused(written: Artefact) -> None:
    with pytest.raises(ArtefactError, match="an artefact of task 'vessel', but 'weather' is served here"):
        read(written.directory, "weather")


CHANGES: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "another format": (lambda m: m.update(format=5), "not a manifest of format 1, 2, 3 or 4"),
    "format 3 without training inputs": (lambda m: m.update(format=3), "of format 3 has a file under training_inputs"),
    "training inputs that are not listed": (
        lambda m: m.update(format=3, training_inputs="training-inputs.npz"),
        "training-inputs.npz.* without listing them",
    ),
    "format 2 without a replay set": (lambda m: m.update(format=2), "one of format 2 has one under replay"),
    "an unknown field": (lambda m: m.update(colour="red"), "colour"),
    "an unknown field inside": (lambda m: m["executor"].update(colour="red"), "colour"),
    "a missing field": (lambda m: m.pop("task"), "task"),
    "no members": (lambda m: m.update(members=0), "members"),
    "an executor of no kind": (lambda m: m["executor"].update(kind="pickle"), "pickle"),
    "a hash that is none": (lambda m: m["files"].update({"graph.onnx": "abc"}), "files"),
    "another schema": (lambda m: m["schema"][0].update(unit="kn"), "does not have the stated hash"),
    "another schema hash": (lambda m: m.update(schema_hash="0" * 16), "does not have the stated hash"),
    "a doubled feature": (lambda m: m["schema"].append(m["schema"][0]), "no doubled names"),
    "too short a range": (lambda m: m["training_range"].update(lower=[1.0]), "training_range has 1 to 2 limits, not 2"),
    "an unlisted graph": (lambda m: m["executor"].update(file="other.onnx"), r"uses \['other.onnx'\] without listing"),
    "unlisted golden inputs": (lambda m: m.update(golden="other.npz"), r"uses \['other.npz'\] without listing"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_manifests_that_are_refused(written: Artefact, change: str) -> None:
    alter, reason = CHANGES[change]
    with pytest.raises(ArtefactError, match=reason) as caught:
        read(rewrite(written, alter))
    assert str(written.directory) in str(caught.value)


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"\xff\xfe", b'{"format": 1, "task": "\xff"}', b"[" * 100_000 + b"]" * 100_000]
)
def test_what_is_no_manifest_is_refused(written: Artefact, content: bytes) -> None:
    (written.directory / MANIFEST).write_bytes(content)
    with pytest.raises(ArtefactError, match=r"manifest.json: not a manifest"):
        read(written.directory)


def test_a_folder_without_manifest_is_no_artefact(tmp_path: Path) -> None:
    for directory in (tmp_path, tmp_path / "nothing"):
        with pytest.raises(ArtefactError, match="no readable manifest"):
            read(directory)


ARTEFACTS = sorted((Path(__file__).parents[2] / "artefacts").glob("*/*/manifest.json"))


@pytest.mark.parametrize("path", ARTEFACTS, ids=lambda path: path.parent.name)
def test_reference_artefacts_are_whole(path: Path) -> None:
    reference = read(path.parent, path.parent.parent.name)
    assert reference.manifest.heads, "a reference artefact is calibrated"
