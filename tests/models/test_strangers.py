"""Checkpoints of strangers: what torch saved comes back, and what a file claims or names does nothing."""

import argparse
import collections
import io
import os
import pickle
import struct
import sys
import types
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from models import pickles, untrusted_checkpoints
from models.artefact import ArtefactError
from models.pickles import Inert

LARGEST = 1 << 20
MAGIC = pickle.dumps(0x1950A86A20F9469CFC6C, 2) + pickle.dumps(1001, 2) + pickle.dumps({"little_endian": True}, 2)


class Meter:
    """Of a program that is not installed where it is read."""

    def __init__(self) -> None:
        self.sum = 3


class Touches:
    """Makes a file when it is unpickled in the ordinary way."""

    def __init__(self, path: Path, how: str) -> None:
        self.path, self.how = path, how

    def __reduce__(self) -> tuple[Any, ...]:
        text = f"open({str(self.path)!r}, 'w').close()"
        return {"system": (os.system, (f"touch {self.path}",)), "eval": (eval, (text,)), "exec": (exec, (text,))}[
            self.how
        ]


@pytest.fixture(params=["zip", "row"])
def save(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[Any], Path]:
    """Saves as torch does, in each of its formats."""

    def saved(what: Any) -> Path:
        path = tmp_path / "checkpoint.pt"
        torch.save(what, path, _use_new_zipfile_serialization=request.param == "zip")
        return path

    return saved


def archive(path: Path, pickled: bytes, storages: dict[str, bytes], *, kind: int = zipfile.ZIP_STORED) -> Path:
    """An archive of torch's with any pickle."""
    with zipfile.ZipFile(path, "w", kind) as file:
        file.writestr("archive/data.pkl", pickled)
        for key, content in storages.items():
            file.writestr(f"archive/data/{key}", content)
    return path


def text(value: str) -> bytes:
    return b"X" + struct.pack("<I", len(value.encode())) + value.encode()


def storage(count: int, kind: str = "FloatStorage", key: str = "0") -> bytes:
    """The persistent id of a storage, as instructions."""
    number = b"\x8a\x08" + struct.pack("<q", count)
    return b"(" + text("storage") + f"ctorch\n{kind}\n".encode() + text(key) + text("cpu") + number + b"tQ"


def tensor(inside: bytes, offset: int, size: tuple[int, ...], strides: tuple[int, ...]) -> bytes:
    values = b"".join(pickle.dumps(number, 2)[2:-1] for number in (offset, size, strides))
    return b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n(" + inside + values + b"\x89N" + b"tR."


def test_what_was_saved_comes_back(save: Callable[[Any], Path]) -> None:
    table = torch.arange(12.0).reshape(3, 4)
    model = collections.OrderedDict(
        {
            "table": table,
            "turned": table.T,
            "part": table[1:, 2:],
            "parameter": torch.nn.Parameter(torch.ones(2)),
            "empty": torch.zeros(0, 3),
            "one": torch.tensor(7),
        }
        | {
            str(kind): torch.tensor([0, 1, 1]).to(kind)
            for kind in (torch.float64, torch.float16, torch.bfloat16, torch.int32, torch.int16, torch.int8)
        }
        | {"uint8": torch.tensor([200], dtype=torch.uint8), "bool": torch.tensor([True, False])}
    )
    options = argparse.Namespace(arch="big", layers=6, dropout=0.3, betas=(0.9, 0.98), names=["a", "б"], none=None)
    checkpoint = {"args": options, "model": model, "extra": {"epoch": 3, "set": {1}, "long": 1 << 80, 7: -1}}
    restored = untrusted_checkpoints.read(save(checkpoint), LARGEST)
    assert restored["args"] == options
    assert restored["extra"] == checkpoint["extra"] | {"set": [1]}
    assert list(restored["model"]) == list(model)
    for name, value in model.items():
        assert restored["model"][name].dtype == value.dtype
        assert torch.equal(restored["model"][name], value), name


def test_objects_of_unknown_programs_are_inert(save: Callable[[Any], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("fairseq_meters")
    module.Meter = Meter  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "fairseq_meters", module)
    monkeypatch.setattr(Meter, "__module__", "fairseq_meters")
    path = save({"meter": Meter(), "counts": collections.Counter("abba"), "kind": torch.float32, "keep": 1})
    monkeypatch.delitem(sys.modules, "fairseq_meters")
    restored = untrusted_checkpoints.read(path, LARGEST)
    assert all(isinstance(restored[name], Inert) for name in ("meter", "counts", "kind"))
    assert restored["keep"] == 1
    assert "fairseq_meters" not in sys.modules


@pytest.mark.parametrize("how", ["system", "eval", "exec"])
def test_what_a_checkpoint_names_is_not_run(save: Callable[[Any], Path], tmp_path: Path, how: str) -> None:
    made = tmp_path / "made"
    path = save({"evil": [Touches(made, how)], "keep": 1})
    restored = untrusted_checkpoints.read(path, LARGEST)
    assert isinstance(restored["evil"][0], Inert)
    assert restored["keep"] == 1
    assert not made.exists()
    torch.load(path, weights_only=False)  # and it would
    assert made.exists()


class Scripted(torch.nn.Module):  # type: ignore[misc]
    """Writes a file when torch.load meets it."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self.path = path

    @torch.jit.export  # type: ignore[untyped-decorator]
    def __getstate__(self) -> tuple[str, bool]:
        return (self.path, self.training)

    @torch.jit.export  # type: ignore[untyped-decorator]
    def __setstate__(self, state: tuple[str, bool]) -> None:
        self.path = state[0]
        self.training = state[1]
        torch.save(torch.ones(1), self.path)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning")
def test_code_of_torchscript_is_not_run(tmp_path: Path) -> None:
    path, made = tmp_path / "script.pt", tmp_path / "made"
    torch.jit.script(Scripted(str(made))).save(str(path))
    torch.load(path, weights_only=False)  # it is run there
    assert made.exists()
    made.unlink()
    with pytest.raises(ArtefactError, match=r"script\.pt: cannot be read as a checkpoint"):
        untrusted_checkpoints.read(path, LARGEST)
    with zipfile.ZipFile(path) as file:  # nor where it is stored as torch stores tensors
        parts = {name: file.read(name) for name in file.namelist()}
    with zipfile.ZipFile(path, "w") as file:
        for name, content in parts.items():
            file.writestr(name, content)
    with pytest.raises(ArtefactError, match="TorchScript"):
        untrusted_checkpoints.read(path, LARGEST)
    assert not made.exists()


def test_classes_are_not_altered(tmp_path: Path) -> None:
    changed = b"\x80\x02cargparse\nNamespace\nN}" + text("hello") + b"K\x01s\x86b."
    untrusted_checkpoints.read(archive(tmp_path / "a.pt", changed, {}), LARGEST)
    assert not hasattr(argparse.Namespace, "hello")
    changed = b"\x80\x02cmodels.pickles\nInert\n)R}" + text("__class__") + b"K\x01sb."
    assert isinstance(untrusted_checkpoints.read(archive(tmp_path / "a.pt", changed, {}), LARGEST), Inert)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "pickle exhausted"),
        (b"garbage", "cannot be read"),
        (b"PK\x03\x04abc", "not a zip file"),
        (pickle.dumps({"a": 1}), "begins like no checkpoint"),
        (MAGIC, "pickle exhausted"),
        (MAGIC.replace(b"\x88", b"\x89"), "little-endian"),
        (MAGIC + pickle.dumps([], 2), "exhausted"),
        (MAGIC + b"\x80\x02}.\x80\x02" + pickle.dumps(["0"], 2)[2:], "list of storages"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "bad.pt"
    path.write_bytes(content)
    with pytest.raises(ArtefactError, match=f"bad.pt: .*{says}"):
        untrusted_checkpoints.read(path, LARGEST)


def test_a_truncated_checkpoint_is_refused_wherever_it_ends(save: Callable[[Any], Path]) -> None:
    path = save({"model": {"a": torch.arange(100.0)}, "args": argparse.Namespace(x=1)})
    whole = path.read_bytes()
    for end in range(0, len(whole) - 1, 41):
        path.write_bytes(whole[:end])
        with pytest.raises(ArtefactError, match="checkpoint"):
            untrusted_checkpoints.read(path, LARGEST)


def test_what_is_too_large_is_refused_before_it_is_read(save: Callable[[Any], Path], tmp_path: Path) -> None:
    path = save({"a": torch.zeros(1000)})
    with pytest.raises(ArtefactError, match="more than 1000"):
        untrusted_checkpoints.read(path, 1000)
    bomb = archive(tmp_path / "bomb.pt", b"N.", {"0": bytes(10**7)}, kind=zipfile.ZIP_DEFLATED)
    assert bomb.stat().st_size < LARGEST
    with pytest.raises(ArtefactError, match="compressed"):
        untrusted_checkpoints.read(bomb, LARGEST)
    with pytest.raises(ArtefactError, match=r"none\.pt"):
        untrusted_checkpoints.read(tmp_path / "none.pt", LARGEST)


@pytest.mark.parametrize(
    ("count", "offset", "size", "strides"),
    [
        (10**12, 0, (4,), (1,)),  # a storage that is not there
        (4, 0, (10**12,), (1,)),
        (4, 0, (10**6, 10**6), (0, 0)),  # one value, seen a million million times
        (4, 3, (2,), (1,)),
        (4, -1, (2,), (1,)),
        (4, 0, (2,), (-1,)),
        (4, 0, (2, 2), (1,)),
        (4, 0, (1 << 61, 1 << 61, 0, 1 << 70), (1, 1, 1, 1)),
    ],
)
@pytest.mark.parametrize("form", ["zip", "row"])
def test_sizes_that_are_only_claimed_are_refused(
    tmp_path: Path, count: int, offset: int, size: tuple[int, ...], strides: tuple[int, ...], form: str
) -> None:
    pickled = tensor(storage(count), offset, size, strides)
    path = tmp_path / "claims.pt"
    if form == "zip":
        archive(path, pickled, {"0": bytes(16)})
    else:
        path.write_bytes(MAGIC + pickled + pickle.dumps(["0"], 2) + struct.pack("<q", 4) + bytes(16))
    with pytest.raises(ArtefactError, match=r"storage|whole numbers|strides|size"):
        untrusted_checkpoints.read(path, LARGEST)


@pytest.mark.parametrize("form", ["zip", "row"])
def test_instructions_of_these_tests_make_a_tensor(tmp_path: Path, form: str) -> None:
    pickled, path = tensor(storage(4), 1, (3,), (1,)), tmp_path / "good.pt"
    content = struct.pack("<4f", 1, 2, 3, 4)
    if form == "zip":
        archive(path, pickled, {"0": content})
    else:
        path.write_bytes(MAGIC + pickled + pickle.dumps(["0"], 2) + struct.pack("<q", 4) + content)
    assert untrusted_checkpoints.read(path, LARGEST).tolist() == [2, 3, 4]


@pytest.mark.parametrize(
    "claim",
    [
        b"(" + text("module") + b"cargparse\nNamespace\n" + text("source") + text("other\n") + b"tQ",
        storage(4, "UntypedStorage"),
        storage(4).replace(b"ctorch\n", b"cevil\n"),
        b"(" + text("storage") + b"NNNNtQ",
        b"NQ",
    ],
)
def test_persistent_ids_of_other_things_are_refused(tmp_path: Path, claim: bytes) -> None:
    with pytest.raises(ArtefactError, match=r"persistent id|storage"):
        untrusted_checkpoints.read(archive(tmp_path / "a.pt", b"\x80\x02" + claim + b".", {"0": bytes(16)}), LARGEST)


def nothing(claim: Any) -> Any:
    raise ValueError("no")


def unpickled(content: bytes, most: int = 100_000) -> Any:
    return pickles.load(io.BytesIO(content), {}, nothing, most)


@pytest.mark.parametrize("protocol", range(6))
def test_plain_values_of_every_protocol(protocol: int) -> None:
    shared = [1]
    values = [None, True, 1, -(1 << 40), 1 << 90, 1.5, "ж\n", b"\x00", (), (1,), (1, 2, 3, 4), {"a": [shared, shared]}]
    if protocol < 3:
        values[7] = "bytes are a call of codecs there"
    restored = unpickled(pickle.dumps(values, protocol))
    assert restored == values
    assert restored[-1]["a"][0] is restored[-1]["a"][1]


def test_depth_does_not_end_the_process() -> None:
    deep: Any = unpickled(b"\x80\x02" + b"]" * 10**5 + b"a" * (10**5 - 1) + b".", 10**6)
    depth = 0
    while deep:
        (deep,), depth = deep, depth + 1
    assert depth == 10**5 - 1
    tuples = b"\x80\x02})" + b"\x85" * 10**5  # a hash of it would go as deep
    with pytest.raises(ValueError, match="key of the type tuple"):
        unpickled(tuples + b"Ns.", 10**6)


@pytest.mark.parametrize(
    "content",
    [
        b"\x80\x02.",
        b"0.",
        b"t.",
        b"(.",
        b"K\x01K\x02s.",
        b"h\x07.",
        b"}(K\x01u.",
        b"\x82\x01.",
        b"}(]Nu.",
        b"\x8d" + struct.pack("<Q", 1 << 40) + b"a.",
        b"B\xff\xff\xff\x7fa.",
        b"cos\nsystem\n)R",
        b"ccollections\nOrderedDict\n]\x85R.",
        b"P0\n.",
        b"\xff",
        b"N" * 200_000 + b".",
    ],
)
def test_broken_pickles_are_value_errors(content: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        unpickled(content)
