"""Reader of untrusted checkpoints: returns tensors and plain values, without running code that they name.

torch's own loader does more, with any unpickler: it runs the code of TorchScript archives, unpacks tar files,
and allocates tensors of sizes that a file only declares. So both of its formats are read here: archives of torch 1.6
and later (zip, not compressed), and the sequence of pickles before. Objects of programs that are not installed become
``pickles.Inert``, so that a checkpoint with meters and options can be read, and a malicious one has no effect.
"""

import io
import struct
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from models import pickles
from models.artefact import ArtefactError
from models.pickles import Builder, Named

_MAGIC, _PROTOCOL = 0x1950A86A20F9469CFC6C, 1001
_AXES = 64
"""Most axes of a tensor."""
_KINDS: Mapping[str, str] = {
    "DoubleStorage": "float64",
    "FloatStorage": "float32",
    "HalfStorage": "float16",
    "BFloat16Storage": "bfloat16",
    "LongStorage": "int64",
    "IntStorage": "int32",
    "ShortStorage": "int16",
    "CharStorage": "int8",
    "ByteStorage": "uint8",
    "BoolStorage": "bool",
}


def read(path: Path, largest_bytes: int) -> Any:
    """Return the content of a checkpoint in either of torch's formats.

    Raises:
        ArtefactError: too large, or not a checkpoint of torch.
    """
    try:
        size = path.stat().st_size
        if size > largest_bytes:
            raise ArtefactError(f"{path}: {size} bytes, more than {largest_bytes}, which no member has")
        with path.open("rb") as file:
            zipped = file.read(4) == b"PK\x03\x04"
            file.seek(0)
            if zipped:
                with zipfile.ZipFile(file) as archive:
                    return _archived(archive, largest_bytes)
            return _in_a_row(file, size)
    except (OSError, ValueError, KeyError, RuntimeError, EOFError, zipfile.BadZipFile) as error:
        reason = str(error).splitlines() or [type(error).__name__]
        raise ArtefactError(f"{path}: cannot be read as a checkpoint: {reason[0][:300]}") from error


@dataclass
class _Storages:
    """Flat tensors by their keys."""

    fetch: Callable[[str, int], bytearray]
    """Function that returns the bytes of a key, given the declared number."""
    loaded: dict[str, Any] = field(default_factory=dict)

    def of(self, claim: Any) -> Any:
        """Return the storage of a persistent id.

        Raises:
            ValueError: another kind of id, or more values than there are.
        """
        import torch

        if not isinstance(claim, tuple) or len(claim) < 5 or claim[0] not in ("storage", b"storage"):
            raise ValueError("a persistent id that is no storage")
        kind, key, _, count = claim[1:5]
        if not (isinstance(kind, Named) and kind.module in ("torch", "torch.cuda") and kind.name in _KINDS):
            raise ValueError(f"a storage of an unknown kind, {str(getattr(kind, 'name', kind))[:80]}")
        if isinstance(key, bytes):
            key = key.decode("ascii")
        if not isinstance(key, str) or not _whole(count):
            raise ValueError("a storage without a key and a number of values")
        if any(part is not None for part in claim[5:]):
            raise ValueError("a view of a storage, as torch 0.3 and earlier wrote them")
        dtype = getattr(torch, _KINDS[kind.name])
        if key not in self.loaded:
            content = self.fetch(key, count * dtype.itemsize)
            self.loaded[key] = torch.frombuffer(content, dtype=dtype) if content else torch.empty(0, dtype=dtype)
        storage = self.loaded[key]
        if storage.dtype != dtype or len(storage) != count:
            raise ValueError(f"the storage {key[:80]} is said to be of two kinds")
        return storage


def _archived(archive: zipfile.ZipFile, largest_bytes: int) -> Any:
    files = {entry.filename: entry for entry in archive.infolist()}
    if any(entry.compress_type != zipfile.ZIP_STORED for entry in files.values()):
        raise ValueError("it is compressed; torch does not compress")
    if sum(entry.file_size for entry in files.values()) > largest_bytes:
        raise ValueError(f"its parts have more than {largest_bytes} bytes")
    pickled = [name for name in files if name.count("/") == 1 and name.endswith("/data.pkl")]
    folder = pickled[0].partition("/")[0] if len(pickled) == 1 else ""
    if not folder or f"{folder}/constants.pkl" in files:
        raise ValueError("an archive of something else, such as TorchScript")
    if files.get(f"{folder}/byteorder") is not None and archive.read(f"{folder}/byteorder") != b"little":
        raise ValueError("its numbers are not little-endian")

    def fetch(key: str, size: int) -> bytearray:
        entry = files.get(f"{folder}/data/{key}")
        if entry is None or entry.file_size != size:
            raise ValueError(f"the storage {key[:80]} has not the {size} bytes that it is said to have")
        content = bytearray(size)
        with archive.open(entry) as part:
            if part.readinto(content) != size:  # type: ignore[attr-defined]  # typed as IO, which has none
                raise ValueError(f"the storage {key[:80]} ends early")
        return content

    if files[pickled[0]].file_size > pickles.MOST_BYTES:
        raise ValueError(f"its pickle has more than {pickles.MOST_BYTES} bytes")
    return pickles.load(io.BytesIO(archive.read(pickled[0])), _BUILDERS, _Storages(fetch).of)


def _in_a_row(file: BinaryIO, size: int) -> Any:
    """Read the format before torch 1.6: a number, a version, the machine, the object, its keys, then a storage per
    key."""
    if pickles.load(file, {}, _nothing) != _MAGIC or pickles.load(file, {}, _nothing) != _PROTOCOL:
        raise ValueError("it begins like no checkpoint of torch")
    machine = pickles.load(file, {}, _nothing)
    if not isinstance(machine, dict) or machine.get("little_endian") is not True:
        raise ValueError("its numbers are not little-endian")
    contents: dict[str, bytearray] = {}
    left = size

    def fetch(key: str, count: int) -> bytearray:
        nonlocal left
        left -= count
        if left < 0:
            raise ValueError("its storages are said to have more bytes than the file")
        return contents.setdefault(key, bytearray(count))

    storages = _Storages(fetch)
    checkpoint = pickles.load(file, _BUILDERS, storages.of)
    keys = pickles.load(file, {}, _nothing)
    if not isinstance(keys, list) or sorted(map(str, keys)) != sorted(contents):
        raise ValueError("its list of storages is not that of its tensors")
    for key in keys:
        (count,) = struct.unpack("<q", file.read(8).ljust(8, b"\xff"))
        content = contents[key]
        if count != len(storages.loaded[key]) or file.readinto(content) != len(content):  # type: ignore[attr-defined]
            raise ValueError(f"the storage {key[:80]} ends early")
    return checkpoint


def _nothing(claim: Any) -> Any:
    raise ValueError("a persistent id where none belongs")


def _whole(value: Any) -> bool:
    return type(value) is int and 0 <= value < 1 << 62


def _tensor(arguments: tuple[Any, ...]) -> Any:
    """Build a tensor from storage, offset, size and strides; gradients and hooks are ignored.

    Raises:
        ValueError: values outside the storage, or more of them than it has.
    """
    import torch

    storage, offset, size, strides = arguments[:4]
    if not isinstance(storage, torch.Tensor) or not isinstance(size, tuple) or not isinstance(strides, tuple):
        raise ValueError("a tensor without a storage, a size and strides")
    if len(size) != len(strides) or len(size) > _AXES or not all(map(_whole, (offset, *size, *strides))):
        raise ValueError("a tensor whose offset, size or strides are no whole numbers")
    count = 1
    for length in size:
        count *= length
    last = offset + sum((length - 1) * stride for length, stride in zip(size, strides, strict=True))
    if count and (count > len(storage) or last >= len(storage)):
        raise ValueError(f"a tensor of the size {list(size)[:8]} in a storage of {len(storage)} values")
    return storage.as_strided(size, strides, offset) if count else storage.new_empty(size)


def _parameter(arguments: tuple[Any, ...]) -> Any:
    import torch

    if not arguments or not isinstance(arguments[0], torch.Tensor):
        raise ValueError("a parameter that is no tensor")
    return arguments[0]


def _size(arguments: tuple[Any, ...]) -> Any:
    return arguments[0] if arguments else ()


def _set(arguments: tuple[Any, ...]) -> Any:
    return arguments[0] if arguments else []


_BUILDERS: Mapping[tuple[str, str], Builder] = {
    ("torch._utils", "_rebuild_tensor"): _tensor,
    ("torch._utils", "_rebuild_tensor_v2"): _tensor,
    ("torch._utils", "_rebuild_parameter"): _parameter,
    ("torch._utils", "_rebuild_parameter_with_state"): _parameter,
    ("torch", "Size"): _size,
    ("builtins", "set"): _set,
    ("__builtin__", "set"): _set,
}
