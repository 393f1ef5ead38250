"""What is no scan: refused alike on both protocols, in bounded memory and work, and nobody beside it is harmed."""

import asyncio
import gzip
import tracemalloc
from typing import Any

import nibabel
import numpy as np
import pytest

from models.artefact import Artefact
from tests.models.lesion.heads import head, packed
from tests.services.tasks.lesion.conftest import serving
from tests.work import unpacked

PLAIN = packed(head())


def with_header(**fields: Any) -> bytes:
    """A file whose header says what its content does not."""
    image = nibabel.Nifti1Image(head(), np.eye(4))
    for name, value in fields.items():
        image.header[name] = value
    content = bytearray(image.to_bytes())
    content[:348] = image.header.binaryblock
    return gzip.compress(bytes(content), 1)


def bomb(megabytes: int) -> bytes:
    """A gzip member of the header of a small image, and members of a megabyte of zeros."""
    return gzip.compress(gzip.decompress(PLAIN)[:352]) + gzip.compress(bytes(1 << 20), 9) * megabytes


def changed(place: tuple[int, int, int], value: float) -> bytes:
    values = head()
    values[place] = value
    return packed(values)


MOVED = np.eye(4)
MOVED[0, 3] = 7.0
BAD: dict[str, tuple[bytes, dict[str, bytes]]] = {
    "no image": (b"\x89PNG not an image of this kind" * 40, {}),
    "nothing": (b"x", {}),
    "a truncated gzip": (PLAIN[: len(PLAIN) // 2], {}),
    "a truncated file": (gzip.decompress(PLAIN)[:-1000], {}),
    "a gzip bomb": (bomb(1 << 10), {}),
    "four axes": (packed(np.stack([head()] * 2, axis=-1)), {}),
    "NaN": (changed((28, 30, 26), np.nan), {}),
    "infinity": (changed((28, 30, 26), np.inf), {}),
    "all zero": (packed(np.zeros((56, 60, 52), np.float32)), {}),
    "a header of 2000 voxels each way": (with_header(dim=[3, 2000, 2000, 2000, 1, 1, 1, 1]), {}),
    "a negative axis": (with_header(dim=[3, -5, 60, 52, 1, 1, 1, 1]), {}),
    "voxels of no size": (with_header(pixdim=[1, 0, 1, 1, 0, 0, 0, 0]), {}),
    "voxels of a metre": (packed(head(), np.diag([1000.0, 1, 1, 1])), {}),
    "voxels of a micrometre": (packed(head(), np.diag([0.001, 0.001, 0.001, 1])), {}),
    "an affine without volume": (with_header(srow_x=[1, 0, 0, 0], srow_y=[1, 0, 0, 0]), {}),
    "complex voxels": (packed(head().astype(np.complex64)), {}),
    "a mask of another shape": (PLAIN, {"brain_mask": packed(np.ones((10, 10, 10), np.uint8))}),
    "a mask elsewhere": (PLAIN, {"brain_mask": packed((head() != 0).astype(np.uint8), MOVED)}),
    "a mask of other numbers": (PLAIN, {"brain_mask": packed(np.full(head().shape, 3, np.uint8))}),
    "an empty mask": (PLAIN, {"brain_mask": packed(np.zeros(head().shape, np.uint8))}),
}


@pytest.mark.parametrize("name", BAD)
async def test_what_is_no_scan_is_refused_in_words(three: Artefact, name: str) -> None:
    flair, files = BAD[name]
    async with serving(three) as served:
        tracemalloc.start()
        with unpacked() as tally:
            error = await served.refusal(flair, **files)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert not served.assembled.scheduler.active
    assert error["field"] == (next(iter(files)) if files else "flair")
    assert len(error["message"]) > 20
    assert "Traceback" not in error["message"]
    assert tally.nbytes <= 2 * (1 + len(files)) * (len(gzip.decompress(PLAIN)) + 4097), "of each file once a protocol"
    assert peak < 80 << 20, f"{peak >> 20} MiB for a refusal"


async def test_a_t1_image_on_another_grid_is_refused_whether_it_is_needed_or_not(
    both: Artefact, three: Artefact
) -> None:
    for model in (both, three):
        async with serving(model) as served:
            for other in (packed(head()[:-1]), packed(head(), MOVED)):
                error = await served.refusal(PLAIN, t1=other)
                assert (error["code"], error["field"]) == ("other_grid", "t1")


async def test_neighbours_of_bad_scans_are_answered_as_if_alone(three: Artefact) -> None:
    async with serving(three) as served:
        alone = await served.answer(PLAIN)
        bad = [served.refusal(flair, **files) for flair, files in BAD.values()]
        good = [served.answer(PLAIN) for _ in range(3)]
        answers, _ = await asyncio.gather(asyncio.gather(*good), asyncio.gather(*bad))
    for answer in answers:
        assert answer["files"] == alone["files"]
        assert answer["uncertainty"] == alone["uncertainty"]


async def test_an_upload_that_is_too_large_is_dropped_while_it_comes(three: Artefact) -> None:
    async with serving(three, max_upload_bytes=len(PLAIN) + 100) as served:
        frames = await served.streamed({"flair": PLAIN + bytes(1000)}, {"flair": PLAIN, "maps": [1]})
        response = await served.form(PLAIN + bytes(1000))
    outcomes = [(f.WhichOneof("frame"), f) for f in frames if f.WhichOneof("frame") in ("error", "result")]
    assert [kind for kind, _ in outcomes] == ["error", "result"]
    assert outcomes[0][1].error.error.code == "body_too_large"
    assert (response.status_code, response.json()["error"]["code"]) == (413, "body_too_large")


@pytest.mark.parametrize(
    ("frames", "code"),
    [
        (({"piece": {"input": 1, "content": b"x"}},), "empty_frame"),
        (({"end": {}},), "empty_frame"),
        (({"scan": {}}, {"scan": {"sequence": 1}}), "empty_frame"),
        (({"scan": {}}, {"piece": {"content": b"x"}}), "unknown_field"),
        (({"begin": {}}, {"begin": {}}), "begun_twice"),
        (({},), "empty_frame"),
    ],
)
async def test_frames_out_of_order_end_a_stream_in_words(three: Artefact, frames: Any, code: str) -> None:
    async with serving(three) as served:
        assert (await served.stream_refusal(frames))["code"] == code
