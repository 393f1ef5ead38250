"""Feature maps as files and as packed numbers: equal after the way there and back, and refused where they are wrong."""

import io
import tracemalloc
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from models.evaluation.unit_errors import BadFile
from models.tasks.motion.inference import maps, scenes
from models.tasks.motion.inference.grid import OFFICIAL, Grid
from models.tasks.motion.inference.render import Renderer
from models.tasks.motion.inference.scene_message import BadScene
from tests.models.motion import towns
from tests.work import unpacked

SMALL = Grid(8, 1.0)


def small_map(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(SMALL.shape).astype(np.float32)


def npy(values: Any, **options: Any) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, values, **options)
    return buffer.getvalue()


def refusal(content: bytes, grid: Grid = SMALL) -> BadScene:
    with pytest.raises(BadScene) as caught:
        maps.read_rendered(content, grid)
    return caught.value


def test_a_drawn_map_comes_back_as_it_was() -> None:
    scene = scenes.parse(towns.town(1).SerializeToString())
    drawn = Renderer(scene, OFFICIAL).draw(scenes.agent(scene, 1))
    content = maps.encode_rendered(drawn)
    assert zlib.decompress(content) == npy(drawn), "byte for byte what numpy writes"
    assert np.array_equal(maps.read_rendered(content, OFFICIAL), drawn)
    assert content == maps.encode_rendered(drawn)


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
@pytest.mark.parametrize("level", [0, 1, 9])
def test_files_of_all_versions_are_read(version: tuple[int, int], level: int) -> None:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, small_map(), version=version)
    assert np.array_equal(maps.read_rendered(zlib.compress(buffer.getvalue(), level), SMALL), small_map())


def test_files_whose_first_axis_runs_quickest_are_read() -> None:
    actual = maps.read_rendered(zlib.compress(npy(np.asfortranarray(small_map()))), SMALL)
    assert np.array_equal(actual, small_map())
    assert actual.flags.c_contiguous


def with_value(value: float) -> np.ndarray:
    values = small_map()
    values[3, 2, 1] = value
    return values


header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (17, 8, 8), }"


def with_header(text: bytes, version: bytes = b"\x01\x00") -> bytes:
    return b"\x93NUMPY" + version + len(text).to_bytes(2, "little") + text + small_map().tobytes()


WRONG = {
    "nothing": (b"", "truncated"),
    "no zlib": (b"no zlib at all", "not_zlib"),
    "plain": (npy(small_map()), "not_zlib"),
    "gzip": (zlib.compress(npy(small_map()), wbits=31), "not_zlib"),
    "cut off": (zlib.compress(npy(small_map()))[:-300], "truncated"),
    "no checksum": (zlib.compress(npy(small_map()))[:-2], "truncated"),
    "bad checksum": (zlib.compress(npy(small_map()))[:-2] + b"ab", "not_zlib"),
    "more inside": (zlib.compress(npy(small_map()) + b"\x00"), "trailing_bytes"),
    "more outside": (zlib.compress(npy(small_map())) + b"\x00", "trailing_bytes"),
    "short": (zlib.compress(npy(small_map())[:-4]), "truncated"),
    "text": (zlib.compress(b"hello, this is some text"), "not_npy"),
    "in its header": (zlib.compress(npy(small_map())[:40]), "truncated"),
    "magic only": (zlib.compress(b"\x93NUMPY\x01"), "not_npy"),
    "version 9": (zlib.compress(with_header(header, b"\x09\x00")), "not_npy"),
    "long header": (zlib.compress(with_header(header + b" " * 5000)), "not_npy"),
    "code": (zlib.compress(with_header(b"__import__('os').abort()")), "not_npy"),
    "an expression": (zlib.compress(with_header(header.replace(b"17", b"16 + 1"))), "not_npy"),
    "no shape": (zlib.compress(with_header(header.replace(b"17, 8", b"1 7 8"))), "not_npy"),
    "objects": (zlib.compress(npy(np.array([{}, print], object), allow_pickle=True)), "would_unpickle"),
    "hidden objects": (zlib.compress(npy(np.zeros(3, [("a", "f4"), ("b", "O")]), allow_pickle=True)), "would_unpickle"),
    "doubles": (zlib.compress(npy(small_map().astype(np.float64))), "dtype"),
    "big endian": (zlib.compress(npy(small_map().astype(">f4"))), "dtype"),
    "whole": (zlib.compress(npy(small_map().astype(np.int32))), "dtype"),
    "records": (zlib.compress(npy(np.zeros(3, [("a", "f4")]))), "dtype"),
    "few channels": (zlib.compress(npy(small_map()[:16])), "channels"),
    "channels last": (zlib.compress(npy(small_map().transpose(1, 2, 0))), "channels"),
    "official": (zlib.compress(npy(np.ones(OFFICIAL.shape, np.float32))), "grid"),
    "a batch": (zlib.compress(npy(small_map()[None])), "grid"),
    "a number": (zlib.compress(npy(np.float32(3))), "grid"),
    "huge": (zlib.compress(with_header(header.replace(b"8, 8", b"99999999999, 8"))), "grid"),
    "nan": (zlib.compress(npy(with_value(np.nan))), "not_finite"),
    "inf": (zlib.compress(npy(with_value(-np.inf))), "not_finite"),
    "large": (zlib.compress(npy(with_value(1e30))), "out_of_range"),
    "empty": (zlib.compress(npy(np.zeros(SMALL.shape, np.float32))), "empty"),
}


@pytest.mark.parametrize(("content", "code"), WRONG.values(), ids=WRONG)
def test_wrong_files_are_refused_by_their_reason(content: bytes, code: str) -> None:
    refused = refusal(content)
    assert refused.code == code
    assert refused.of("files[2]").field == "files[2]"


def test_a_plain_file_is_told_what_it_is() -> None:
    assert "is a plain NPY file" in str(refusal(npy(small_map())))


def test_a_bomb_is_not_unpacked() -> None:
    start = npy(np.ones(OFFICIAL.shape, np.float32))
    packer = zlib.compressobj(9)
    pieces = [packer.compress(start)] + [packer.compress(bytes(1 << 20)) for _ in range(500)]
    bomb = b"".join((*pieces, packer.flush()))
    assert len(bomb) < 600_000
    tracemalloc.start()
    try:
        with unpacked() as tally:
            assert refusal(bomb, OFFICIAL).code == "trailing_bytes"
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()
    assert len(start) < tally.nbytes < len(start) + 1000, "one map, and a byte that shows that more follows"


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_refused(content: bytes) -> None:
    for payload in (content, zlib.compress(content), zlib.compress(b"\x93NUMPY\x01\x00" + content)):
        with pytest.raises(BadScene):
            maps.read_rendered(payload, SMALL)


@pytest.mark.parametrize("seed", range(300))
def test_broken_files_are_read_or_refused(seed: int) -> None:
    rng = np.random.default_rng(seed)
    inside = np.frombuffer(npy(small_map()), np.uint8).copy()
    if seed % 2:
        inside[rng.integers(0, 128)] ^= 1 << rng.integers(0, 8)
    content = np.frombuffer(zlib.compress(inside.tobytes()), np.uint8).copy()
    if seed % 3:
        content[rng.integers(0, len(content))] ^= 1 << rng.integers(0, 8)
    with suppress(BadScene):
        assert np.isfinite(maps.read_rendered(content.tobytes(), SMALL)).all()


@pytest.mark.parametrize("count", [1, 3])
def test_packed_maps_are_read_without_copying(count: int) -> None:
    values = np.stack([small_map(seed) for seed in range(count)])
    content = values.tobytes()
    actual = maps.read_tensor(content, SMALL)
    assert np.array_equal(actual, values)
    assert np.shares_memory(actual, np.frombuffer(content, np.uint8))


@pytest.mark.parametrize("content", [b"", small_map().tobytes()[:-4], small_map().tobytes() + b"\x00"])
def test_packed_maps_are_whole(content: bytes) -> None:
    with pytest.raises(BadScene) as caught:
        maps.read_tensor(content, SMALL)
    assert caught.value.code == "size"


@pytest.mark.parametrize(
    ("feature_map", "code"),
    [
        (with_value(np.nan), "not_finite"),
        (with_value(-1e9), "out_of_range"),
        (np.zeros_like(small_map()), "empty"),
    ],
)
def test_wrong_numbers_of_a_map_are_refused(feature_map: NDArray[np.float32], code: str) -> None:
    maps.check(small_map())
    with pytest.raises(BadScene) as caught:
        maps.check(feature_map)
    assert caught.value.code == code


def test_files_on_disk_are_named_when_they_are_wrong(tmp_path: Path) -> None:
    path = tmp_path / "s_1.npy"
    with pytest.raises(BadFile, match=r"s_1\.npy cannot be read"):
        maps.read_rendered_file(path, SMALL)
    path.write_bytes(maps.encode_rendered(small_map()))
    assert np.array_equal(maps.read_rendered_file(path, SMALL), small_map())
    with pytest.raises(BadFile, match=r"s_1\.npy: the map has the shape \[17, 8, 8\]; \[17, 128, 128\] is needed"):
        maps.read_rendered_file(path, OFFICIAL)
