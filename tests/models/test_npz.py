"""Array files: bytes that depend on the arrays alone, and decoding that refuses what is not one."""

import io
import struct
import zipfile

import numpy as np
import pytest

from models import npz

MANY = 1 << 20


def zipped(entries: dict[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def npy(values: object, **options: bool) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.asarray(values), **options)
    return buffer.getvalue()


def test_arrays_come_back_as_they_were() -> None:
    arrays = {
        "matrix": np.arange(12, dtype=np.float32).reshape(3, 4),
        "none": np.zeros((0, 5), np.uint8),
        "one": np.float64(3.5),
        "truth": np.array([True, False]),
        "halves": np.array([0.5, np.nan], np.float16),
        "deep": np.arange(24, dtype=np.int64).reshape(2, 3, 4),
    }
    restored = npz.decode(npz.encode(arrays), MANY)
    assert set(restored) == set(arrays)
    for name, array in arrays.items():
        assert restored[name].dtype == np.asarray(array).dtype
        np.testing.assert_array_equal(restored[name], array)
    assert npz.encode(arrays) == npz.encode(dict(reversed(arrays.items())))


def test_more_than_allowed_is_refused_before_it_is_unpacked() -> None:
    content = npz.encode({"zeros": np.zeros(1 << 20, np.uint8)})
    assert len(content) < 5000
    with pytest.raises(npz.BadArrays, match="it unpacks to 1048704 bytes, 1000000 are allowed"):
        npz.decode(content, 1_000_000)


def test_a_size_that_lies_is_refused() -> None:
    content = npz.encode({"zeros": np.zeros(1 << 16, np.uint8)})
    size = struct.pack("<I", (1 << 16) + 128)
    assert content.count(size) == 2, "in the local header and in the directory"
    for claimed in (128, 1 << 12, (1 << 16) + 129):
        with pytest.raises(npz.BadArrays):
            npz.decode(content.replace(size, struct.pack("<I", claimed)), MANY)


REFUSED: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "no archive of arrays"),
    "text": (b"arrays", "no archive of arrays"),
    "cut off": (npz.encode({"a": np.arange(1000)})[:-30], "no archive of arrays"),
    "an object": (zipped({"a.npy": npy(np.array([{}], object), allow_pickle=True)}), "little-endian numbers"),
    "texts": (zipped({"a.npy": npy(["a"])}), "little-endian numbers"),
    "big-endian": (zipped({"a.npy": npy(np.arange(3, dtype=">f4"))}), "little-endian numbers"),
    "columns first": (zipped({"a.npy": npy(np.asfortranarray(np.zeros((2, 3))))}), "in C order"),
    "too few numbers": (zipped({"a.npy": npy(np.arange(3))[:-1]}), "claims the shape"),
    "too many numbers": (zipped({"a.npy": npy(np.arange(3)) + b"\0"}), "claims the shape"),
    "no header": (zipped({"a.npy": b"\x93NUMPY"}), "is no array"),
    "another file": (zipped({"a.txt": b"hello"}), "no array's name"),
    "another packing": (zipped({"a.npy": npy(np.arange(3))}, zipfile.ZIP_BZIP2), "packed in a way"),
    "many": (zipped({f"{number}.npy": npy(0) for number in range(65)}), "65 arrays, 64 are allowed"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_array_file_is_refused(case: str) -> None:
    content, reason = REFUSED[case]
    with pytest.raises(npz.BadArrays, match=reason):
        npz.decode(content, MANY)


def test_the_same_name_twice_is_refused() -> None:
    content = zipped({"a.npy": npy(0), "b.npy": npy(1)}).replace(b"b.npy", b"a.npy")
    with pytest.raises(npz.BadArrays, match="twice"):
        npz.decode(content, MANY)
