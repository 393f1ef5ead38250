"""Images from bytes: what is read is what other libraries read, and what cannot be is refused early and in words."""

import contextlib
import gzip
import io
import struct
import tracemalloc
import zlib
from pathlib import Path
from typing import Any

import nibabel
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.imaging import nifti
from models.imaging.nifti import BadImage
from tests import work
from tests.models.lesion.heads import head, packed, unpacked

HEAD = head()
OBLIQUE = np.array([[-0.99, 0.1, 0, 40], [0.1, 0.99, 0.05, -30], [0, -0.05, 1, 7], [0, 0, 0, 1]])


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("kind", [nibabel.Nifti1Image, nibabel.Nifti2Image])
@pytest.mark.parametrize("dtype", ["<f4", ">f4", "<i2", ">u2", "u1", "<f8", "<i8"])
def test_voxels_and_places_are_those_that_nibabel_reads(zipped: bool, kind: Any, dtype: str) -> None:
    header = kind.header_class(endianness=">" if dtype[0] == ">" else "<")
    image = kind(HEAD.astype(dtype), OBLIQUE, header)
    image.set_data_dtype(dtype)
    content = image.to_bytes()
    decoded = nifti.read(gzip.compress(content) if zipped else content)
    assert np.array_equal(decoded.values, np.asanyarray(kind.from_bytes(content).dataobj))
    assert np.allclose(decoded.affine, OBLIQUE, atol=1e-6)
    assert decoded.spacing == pytest.approx(np.sqrt((OBLIQUE[:3, :3] ** 2).sum(axis=0)))


def test_unscaled_voxels_of_a_plain_file_are_a_view() -> None:
    content = packed(HEAD, zipped=False)
    decoded = nifti.read(content)
    assert np.shares_memory(decoded.values, np.frombuffer(content, np.uint8))


def test_scaled_voxels_are_scaled() -> None:
    image = nibabel.Nifti1Image(HEAD.astype(np.int16), np.eye(4))
    image.header.set_slope_inter(0.25, -3)
    content = bytearray(image.to_bytes())
    content[112:120] = struct.pack("<2f", 0.25, -3)
    decoded = nifti.read(bytes(content))
    assert np.array_equal(decoded.values, HEAD.astype(np.int16) * 0.25 - 3)
    content[116:120] = struct.pack("<f", np.nan)
    with pytest.raises(BadImage, match="scales voxels by 0.25 and adds nan"):
        nifti.read(bytes(content))


def test_axes_of_length_one_are_dropped_and_others_refused() -> None:
    assert nifti.read(packed(HEAD[..., None, None])).values.shape == HEAD.shape
    for wrong in (np.stack([HEAD, HEAD], axis=-1), HEAD[0]):
        refused(packed(wrong), "not_a_volume", "one volume [x, y, z] is needed")


def test_several_gzip_members_are_one_stream() -> None:
    content = packed(HEAD, zipped=False)
    parts = [content[:100], content[100:200_000], b"", content[200_000:]]
    assert np.array_equal(nifti.read(b"".join(gzip.compress(part) for part in parts)).values, HEAD)


def test_an_image_without_sform_and_qform_lies_where_nibabel_lays_it() -> None:
    image = nibabel.Nifti1Image(HEAD, None)
    image.header.set_zooms((1, 1, 1.5))
    content = image.to_bytes()
    assert np.array_equal(nifti.read(content).affine, nibabel.Nifti1Image.from_bytes(content).affine)
    assert nifti.read(content).space == 0


@pytest.mark.parametrize("dtype", [np.float32, np.uint8, bool])
@pytest.mark.parametrize("order", ["C", "F"])
def test_what_is_written_is_read_by_others_with_its_places(dtype: Any, order: str, tmp_path: Path) -> None:
    simpleitk = pytest.importorskip("SimpleITK")
    values = np.asarray(HEAD.astype(dtype), order=order)[::-1]  # type: ignore[call-overload]
    rigid = np.eye(4)
    rigid[:3, :3] = np.linalg.qr(OBLIQUE[:3, :3])[0] * [1, 1, 1.2]
    rigid[:3, 3] = 12.5, -7, 3
    content = nifti.write(values, rigid, 2)
    image = unpacked(content)
    assert np.array_equal(image.dataobj, values)
    for affine, code in (image.get_sform(coded=True), image.get_qform(coded=True)):
        assert code == 2
        assert np.allclose(affine, rigid, atol=1e-4)
    (tmp_path / "a.nii.gz").write_bytes(content)
    other = simpleitk.ReadImage(str(tmp_path / "a.nii.gz"))
    assert np.array_equal(simpleitk.GetArrayFromImage(other).T, values)
    corner = np.array(other.TransformIndexToPhysicalPoint([3, 5, 7])) * [-1, -1, 1]  # it counts to the left and back
    assert np.allclose(corner, (rigid @ [3, 5, 7, 1])[:3], atol=1e-4)


def test_equal_voxels_give_equal_bytes_and_a_header_that_says_nothing_else() -> None:
    first = nifti.write(HEAD, OBLIQUE)
    assert first == nifti.write(HEAD.copy(order="F"), OBLIQUE)
    header = unpacked(first).header
    assert not header.extensions
    assert header.get_xyzt_units() == ("mm", "unknown")
    texts = [header[name].item() for name in ("descrip", "aux_file", "intent_name", "db_name", "data_type")]
    assert texts == [b""] * 5


def named_patient() -> bytes:
    """A big-endian file that says whose head it is wherever a header can."""
    image = nibabel.Nifti1Image(HEAD.astype(">i2"), OBLIQUE, nibabel.Nifti1Header(endianness=">"))
    for name in ("descrip", "aux_file", "intent_name", "db_name", "data_type"):
        image.header[name] = b"JohnDoe"
    image.header.extensions.append(nibabel.nifti1.Nifti1Extension("comment", b"John Doe, 1970-01-01"))
    content = image.to_bytes()
    assert content.count(b"John") == 6
    return bytes(content)


def test_an_anonymous_image_has_the_voxels_and_no_text() -> None:
    for content in (named_patient(), gzip.compress(named_patient())):
        clean = nifti.anonymous(content)
        assert b"John" not in gzip.decompress(clean)
        assert np.array_equal(nifti.read(clean).values, nifti.read(content).values)
        assert np.array_equal(nifti.read(clean).affine, nifti.read(content).affine)
        assert nifti.anonymous(clean) == clean
    with pytest.raises(BadImage):
        nifti.anonymous(named_patient()[:-1])


def header_with(**fields: Any) -> bytes:
    """The head with header fields as they should not be."""
    header = nibabel.Nifti1Header()
    header.set_data_dtype(np.float32)
    header.set_data_shape(HEAD.shape)
    header.set_sform(np.eye(4), 1)
    header["vox_offset"], header["magic"] = 352, b"n+1"
    for name, value in fields.items():
        header[name] = value
    return bytes(header.binaryblock) + bytes(4) + HEAD.tobytes(order="F")


def dims(*lengths: int) -> list[int]:
    return [len(lengths), *lengths, *[1] * (7 - len(lengths))]


MOST_BYTES = 352 + HEAD.nbytes + 4097
"""Unpacked of a file that declares the head: its header, its voxels, and zeros that may pad it, with one too many."""
MOST_STREAMS = 1 << 14
"""Gzip members: of a file in blocks of 64 kB, as bgzip writes, 1 GB."""


def refused(content: bytes, code: str, words: str = "", *, megabytes: float = 4) -> BadImage:
    """Reads what is to be refused, in bounded memory and without unpacking more than an image of that size has."""
    tracemalloc.start()
    try:
        with work.unpacked() as tally, pytest.raises(BadImage) as caught:
            nifti.read(content)
        assert tally.nbytes <= MOST_BYTES
        assert tally.streams <= MOST_STREAMS
        assert tracemalloc.get_traced_memory()[1] < megabytes * 2**20
    finally:
        tracemalloc.stop()
    assert caught.value.code == code
    assert words in caught.value.message
    return caught.value


def bomb(start: bytes, megabytes: int) -> bytes:
    """Gzipped bytes that begin with these and go on with zeros."""
    packer = zlib.compressobj(9, wbits=31)
    zeros = bytes(1 << 20)
    return packer.compress(start) + b"".join(packer.compress(zeros) for _ in range(megabytes)) + packer.flush()


def test_a_gzip_bomb_stops_at_the_size_that_its_header_declares() -> None:
    content = bomb(header_with(), 200)
    assert len(content) < 1 << 20
    refused(content, "trailing_bytes", "bytes follow what the header declares")
    refused(bomb(b"", 200), "not_nifti", "no NIfTI image")
    refused(bomb(header_with(vox_offset=3e9), 10), "not_nifti", "voxels start at byte")


def test_a_header_of_billions_of_voxels_is_refused_before_they_are_made() -> None:
    for content in (header_with(dim=dims(2000, 2000, 2000)), gzip.compress(header_with(dim=dims(2000, 2000, 2000)))):
        error = refused(content, "too_large", "at most 67108864 are taken")
        assert (error.value, error.unit) == ("8000000000", "voxels")


def test_a_small_file_that_declares_much_is_cut_off_before_it_is_made() -> None:
    for content in (header_with(dim=dims(400, 400, 400)), gzip.compress(header_with(dim=dims(400, 400, 400)))):
        refused(content, "truncated", "are declared")


@pytest.mark.parametrize("left", [0, 3, 4, 100, 347, 348, 1000, -20, -8, -1])
def test_files_that_are_cut_off_are_refused(left: int) -> None:
    refused(packed(HEAD)[:left], "not_nifti" if left in (0, 3, 4) else "truncated")
    if left not in (-8, -20):
        refused(header_with()[:left], "not_nifti" if left in (0, 3) else "truncated")


def test_damaged_and_foreign_bytes_are_refused() -> None:
    damaged = bytearray(packed(HEAD))
    damaged[len(damaged) // 2] ^= 0xFF
    refused(bytes(damaged), "truncated", "broken")
    refused(b"DICM" * 500, "not_nifti", "dcm2niix")
    refused(b"\x1f\x8b" + b"x" * 500, "truncated")
    refused(header_with(magic=b"ni1"), "not_nifti", "pair")
    refused(header_with(magic=b""), "not_nifti")
    refused(header_with() + b"x", "trailing_bytes")
    refused(packed(HEAD) + b"garbage", "trailing_bytes")
    refused(gzip.compress(header_with() + b"x" * 100), "trailing_bytes")
    refused(gzip.compress(b"") * 17_000, "truncated", "gzip members", megabytes=8)
    assert nifti.read(packed(HEAD) + bytes(512)).values.shape == HEAD.shape, "tapes pad with zeros"


@pytest.mark.parametrize(
    ("fields", "code", "words"),
    [
        ({"dim": dims(56, -60, 52)}, "not_a_volume", "shape"),
        ({"dim": [9, 56, 60, 52, 1, 1, 1, 1]}, "not_nifti", "9 axes"),
        ({"dim": [0] * 8}, "not_nifti", "0 axes"),
        ({"datatype": 32, "bitpix": 64}, "voxel_type", "complex64"),
        ({"datatype": 128, "bitpix": 24}, "voxel_type", "colours"),
        ({"datatype": 1536, "bitpix": 128}, "voxel_type", ""),
        ({"datatype": 77}, "voxel_type", "unknown voxel type 77"),
        ({"pixdim": [1, 0, 1, 1, 0, 0, 0, 0]}, "spacing", "0 x 1 x 1 mm"),
        ({"pixdim": [1, -1, 1, 1, 0, 0, 0, 0]}, "spacing", "-1 x 1 x 1 mm; 0.2 to 8 mm are taken"),
        ({"pixdim": [1, np.nan, 1, 1, 0, 0, 0, 0]}, "spacing", "nan"),
        ({"pixdim": [1, 9, 9, 9, 0, 0, 0, 0], "sform_code": 0}, "spacing", "9 x 9 x 9"),
        ({"pixdim": [1, 1e30, 1, 1, 0, 0, 0, 0], "sform_code": 0}, "spacing", "1e+30"),
        ({"pixdim": [1, 0.5, 0.5, 0.5, 0, 0, 0, 0], "sform_code": 0}, "field_of_view", "28 x 30 x 26 mm"),
        ({"dim": dims(600, 600, 40)}, "field_of_view", "600 x 600 x 40 mm"),
        ({"pixdim": [1, 2, 2, 2, 0, 0, 0, 0]}, "affine", "pixdim says 2 x 2 x 2 mm"),
        ({"srow_x": [0, 1, 0, 0], "srow_y": [0, 1, 0, 0]}, "spacing", "0 x"),
        ({"srow_x": [1, 1, 0, 0], "srow_y": [0, 0.01, 0, 0]}, "affine", "one plane"),
        ({"srow_x": [np.nan, 0, 0, 0]}, "affine", "NaN"),
        ({"vox_offset": np.inf}, "not_nifti", "voxels start at byte inf"),
        ({"vox_offset": np.nan}, "not_nifti", "voxels start at byte nan"),
        ({"qform_code": 1, "pixdim": [-1, 1, 1, 1, 0, 0, 0, 0]}, "affine", "mirrors"),
        ({"qform_code": 1, "sform_code": 0, "quatern_b": 0.9, "quatern_c": 0.9}, "affine", "quaternion"),
    ],
)
def test_headers_that_no_scan_of_a_head_has_are_refused(fields: dict[str, Any], code: str, words: str) -> None:
    refused(header_with(**fields), code, words)


def test_voxels_that_are_no_numbers_are_counted_and_refused() -> None:
    wrong = HEAD.copy()
    wrong[0, 0, 0], wrong[5, 6, 7], wrong[-1, -1, -1] = np.nan, np.inf, -np.inf
    error = refused(packed(wrong), "not_finite", f"3 of {HEAD.size} voxels are NaN or infinite")
    assert (error.value, error.unit) == ("3", "voxels")


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 351), st.integers(0, 255)), max_size=6), st.booleans())
def test_any_header_is_an_image_or_a_refusal(changes: list[tuple[int, int]], zipped: bool) -> None:
    content = bytearray(header_with(qform_code=1))
    for place, value in changes:
        content[place] = value
    sent = gzip.compress(bytes(content), 1) if zipped else bytes(content)
    with contextlib.suppress(BadImage):
        decoded = nifti.read(sent)
        assert unpacked(nifti.write(decoded.values, decoded.affine, decoded.space)).shape == decoded.values.shape
    with contextlib.suppress(BadImage):
        nifti.anonymous(sent)


@given(st.binary(max_size=600))
def test_any_bytes_are_an_image_or_a_refusal(content: bytes) -> None:
    for sent in (content, gzip.compress(content), b"\x1f\x8b\x08" + content, struct.pack("<i", 348) + content):
        with contextlib.suppress(BadImage):
            nifti.read(sent)


def test_real_images_are_read_as_nibabel_reads_them(test_data: Path) -> None:
    for path in sorted((test_data / "lesion").rglob("patient2*/*.nii.gz")):
        image: Any = nibabel.load(path)
        content = path.read_bytes()
        decoded = nifti.read(content)
        assert np.array_equal(decoded.values, np.asanyarray(image.dataobj))
        assert np.allclose(decoded.affine, image.affine, atol=1e-6)
        again: Any = nibabel.Nifti1Image.from_file_map(
            {"image": nibabel.FileHolder(fileobj=io.BytesIO(gzip.decompress(nifti.anonymous(content))))}
        )
        assert np.array_equal(np.asanyarray(again.dataobj), decoded.values)
