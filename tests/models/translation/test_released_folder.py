"""A folder of released checkpoints: read whole, or refused in words."""

from pathlib import Path

import numpy as np
import pytest
import torch

from models.artefact import ArtefactError
from models.tasks.translation.artefact import importing
from models.tasks.translation.text import released_tokens
from tests.models.translation.fairseq_files import checkpoint, folder, sizes, texts


def test_members_and_tokenisation_are_read(tmp_path: Path) -> None:
    released = importing.read_released(folder(tmp_path / "released", members=3))
    assert len(released.members) == 3
    tables = [member.weights["decoder.embed_tokens.weight"] for member in released.members]
    assert len(tables[0]) == released.sizes.target == len(released.tokens.target)
    assert not np.array_equal(tables[0], tables[1])
    torch.manual_seed(2)
    assert released.tokens.sentence("The museum.").tokens[-1] == 2
    assert released_tokens.of_texts(released.texts, released.sizes) == released.tokens


def test_members_are_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    path = folder(tmp_path / "released", members=11)
    assert [member_path.name for member_path in importing.checkpoints(path)] == [
        f"model{number}.pt" for number in range(1, 12)
    ]


@pytest.mark.parametrize("name", ["codes", "bpecodes"])
def test_merges_may_have_another_name(name: str, tmp_path: Path) -> None:
    path = folder(tmp_path / "released", members=1)
    (path / "code").rename(path / name)
    assert set(importing.read_released(path).texts) == {"code", "dict.en.txt", "dict.ru.txt"}
    (path / "code").write_bytes(b"")
    with pytest.raises(ArtefactError, match=f"code and {name} are both there"):
        importing.read_released(path)


@pytest.mark.parametrize(
    ("missing", "message"),
    [
        ("code", r"file of merges is missing \(code, codes, bpecodes\)\. .* take the file 'code'"),
        ("dict.en.txt", "dict.en.txt is missing"),
        ("dict.ru.txt", "dict.ru.txt is missing"),
        ("model1.pt", "model1.pt is missing, and model2.pt is there"),
    ],
)
def test_what_is_missing_is_named(missing: str, message: str, tmp_path: Path) -> None:
    path = folder(tmp_path / "released")
    (path / missing).unlink()
    with pytest.raises(ArtefactError, match=message):
        importing.read_released(path)


def test_folders_without_checkpoints_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ArtefactError, match="nowhere: no such folder"):
        importing.read_released(tmp_path / "nowhere")
    with pytest.raises(ArtefactError, match="no checkpoints; they are called model1.pt"):
        importing.read_released(tmp_path)


def test_members_of_two_sizes_are_refused(tmp_path: Path) -> None:
    path = folder(tmp_path / "released")
    checkpoint(path / "model2.pt", sizes(texts(), inner=32), 2)
    with pytest.raises(ArtefactError, match=r"model2.pt has other sizes than model1.pt: .*inner=32"):
        importing.read_released(path)


def test_refusals_of_texts_name_the_folder(tmp_path: Path) -> None:
    path = folder(tmp_path / "released")
    (path / "dict.ru.txt").write_bytes(b"\xff\xfe 1\n")
    with pytest.raises(ArtefactError, match=r"released: dict.ru.txt, line 1: not UTF-8"):
        importing.read_released(path)
    (path / "dict.ru.txt").write_bytes(texts()["dict.ru.txt"] + b"more 1\n")
    with pytest.raises(ArtefactError, match=r"released: dict.ru.txt: \d+ tokens .* take the dictionary"):
        importing.read_released(path)
