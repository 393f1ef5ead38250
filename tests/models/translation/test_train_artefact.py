"""From files of pairs to a served artefact, over the command line; a training that was cut off goes on."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from models import artefact
from models.artefact import Artefact
from models.tasks.translation.data import pairs_folder
from models.tasks.translation.inference import members
from models.tasks.translation.networks import settings
from models.tasks.translation.training import train
from services.cli import main
from tests.models.translation.made import corpus
from tests.models.translation.small_ensemble import SETTINGS

HEADER = "domain\tsource\ten\tru\n"


@pytest.fixture
def pairs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder made by the command line; the preset ``small`` is a smaller one."""
    quick = replace(SETTINGS, steps=8, dev_every=4, warmup=4)
    monkeypatch.setattr(settings, "PRESETS", {**settings.PRESETS, "small": quick})
    for name, seed, count in (("train", 0, 300), ("valid", 1, 60)):
        rows = "".join(f"{p.domain}\t{p.source}\t{p.english}\t{p.russian}\n" for p in corpus(count, seed).pairs)
        (tmp_path / f"{name}.tsv").write_text(HEADER + rows)
    out = tmp_path / "pairs"
    arguments = ["--train", str(tmp_path / "train.tsv"), "--valid", str(tmp_path / "valid.tsv"), "--out", str(out)]
    words = ["--domains", "everyday", "--shifted", "docs", "--description", "made up", "--licence", "Apache-2.0"]
    assert main(["data", "translation", "select", *arguments, *words]) == 0
    return out


@pytest.mark.long
def test_pairs_become_an_artefact(pairs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "runs" / "two"
    capsys.readouterr()
    arguments = ["--data", str(pairs), "--out", str(out), "--members", "2", "--precision", "fp32", "--json"]
    assert main(["train", "translation", *arguments]) == 0
    report = json.loads(capsys.readouterr().out)
    built = artefact.read(out, "translation")
    assert report["tag"] == built.tag
    assert (built.manifest.members, built.manifest.executor.precision) == (2, "fp32")
    assert [source.licence for source in built.manifest.sources] == ["Apache-2.0"] * 2
    assert {"calibration", "held out: everyday", "shifted: docs"} <= set(built.manifest.quality)
    assert members.translator(built).decoder.members == 2
    assert not out.with_name("two.parts").exists()


@pytest.mark.long
def test_a_training_that_was_cut_off_goes_on(pairs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "runs" / "one"

    def asked() -> Artefact:
        return train.train_artefact(
            "transformer", pairs, out, members=1, seed=0, preset="small", precision="fp32", jobs=1
        )

    with monkeypatch.context() as broken:
        broken.setattr(train, "assembled", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            asked()
    kept = out.with_name("one.parts")
    trained = (kept / "member-0.pt").stat().st_mtime_ns
    seen = []
    whole = train.assembled
    monkeypatch.setattr(
        train,
        "assembled",
        lambda folder, *rest, **named: (
            seen.append((folder / "member-0.pt").stat().st_mtime_ns) or whole(folder, *rest, **named)
        ),
    )
    assert asked().manifest.members == 1
    assert seen == [trained], "the member was found again"


def test_a_folder_of_another_training_is_not_gone_on_with(pairs: Path, tmp_path: Path) -> None:
    chosen = settings.preset("small")
    corpora = pairs_folder.read(pairs)
    train.prepare(corpora.train, corpora.valid, chosen, tmp_path / "parts")
    with pytest.raises(ValueError, match="another training"):
        train.prepare(corpora.train, corpora.valid, replace(chosen, rate=1.0), tmp_path / "parts")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--members", "0"], "at least one member"),
        (["--family", "lstm"], "unknown"),
        (["--data", "/nowhere"], "no folder"),
    ],
)
def test_what_cannot_be_is_refused(
    pairs: Path, tmp_path: Path, arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", "translation", "--data", str(pairs), "--out", str(tmp_path / "x"), *arguments]) == 1
    assert words in capsys.readouterr().err
