"""Scans in Label Studio: what is painted on its pages comes back voxel for voxel, in every order of axes."""

import base64
import gzip
import io
from itertools import permutations, product
from pathlib import Path
from typing import Any

import nibabel
import numpy as np
import pytest
from nibabel import orientations

from models.artefact import Artefact
from models.imaging import brush_rle, slices
from models.label_errors.volumes import read_mask
from services.runtime.errors import InvalidInput
from services.tasks.lesion.label_studio import SCANS
from services.transport.label_studio.converter import ClaimedInput, StudioHead
from tests.models.lesion.heads import head, packed
from tests.services.review.studio import Json, annotated, answer, outcomes, studio_beside
from tests.services.tasks.lesion.conftest import serving

HEAD = StudioHead("lesions", "volume", "1", "mask of <lesions> & none else")
SHAPE = (5, 6, 7)
"""Voxels to the right, to the front and up."""
AFFINE = nibabel.affines.from_matvec(
    np.array([[0.98, 0.17, 0], [-0.17, 0.98, 0.05], [0, -0.05, 1]]) * (1.0, 0.9, 3.0), (-70.0, 12.0, 5.5)
)
NONE = answer("choices", "scan", {"choices": ["none"]}) | {"from_name": "empty"}


def region(image: Any) -> Json:
    """A region of the brush, from a mask [rows, columns] of the whole image."""
    rows, columns = image.shape
    value = {"format": "rle", "rle": brush_rle.encode(image), "brushlabels": ["lesion"]}
    return answer("brushlabels", "scan", value, original_width=columns, original_height=rows, image_rotation=0)


def sheet(volume: Any, across: int) -> Any:
    """Image of a volume [right, front, up]: slices from below, the right on the left and the front at the top."""
    pages = [volume[::-1, ::-1, number].T for number in range(volume.shape[2])]
    pages += [np.zeros_like(pages[0])] * (-len(pages) % across)
    return np.vstack([np.hstack(pages[start : start + across]) for start in range(0, len(pages), across)])


def painted(mask: Any, data: Json) -> list[Json]:
    """Two regions that are a mask [right, front, up] together."""
    image = sheet(mask, data["grid"]["across"])
    upper = np.arange(len(image))[:, None] < len(image) // 2
    return [region(image & upper), region(image & ~upper)]


WAYS = ["".join(letters) for axes in permutations(("RL", "AP", "SI")) for letters in product(*axes)]


@pytest.mark.parametrize("way", WAYS)
def test_a_painted_mask_has_the_voxels_of_the_file(way: str) -> None:
    rng = np.random.default_rng(3)
    mask = rng.random(SHAPE) < 0.3
    mask[..., 2] = False
    canonical = nibabel.Nifti1Image(mask.astype(np.uint8) * 100, AFFINE)
    change = orientations.ornt_transform(orientations.io_orientation(AFFINE), orientations.axcodes2ornt(tuple(way)))
    turned = canonical.as_reoriented(change)
    data = SCANS.data(HEAD, ClaimedInput("application/x-nifti", content=packed(turned.dataobj, turned.affine)))
    value = SCANS.value(HEAD, data, painted(mask, data))
    assert isinstance(value, bytes)
    voxels, affine = read_mask(value)
    np.testing.assert_array_equal(voxels, np.asarray(turned.dataobj) > 0)
    np.testing.assert_allclose(affine, turned.affine, atol=1e-5)
    (again,) = SCANS.predictions(HEAD, data, value)
    drafted = SCANS.value(HEAD, data, again)
    assert isinstance(drafted, bytes)
    np.testing.assert_array_equal(read_mask(drafted)[0], voxels)


def test_the_image_shows_the_scan() -> None:
    image = pytest.importorskip("PIL.Image")
    data = SCANS.data(HEAD, ClaimedInput("application/x-nifti", content=packed(head())))
    kind, _, text = data["scan"].partition(",")
    assert kind == "data:image/png;base64"
    pixels = np.asarray(image.open(io.BytesIO(base64.b64decode(text))))
    expected = sheet(head(), data["grid"]["across"])
    assert pixels.shape == expected.shape
    assert 0.5 < pixels.shape[0] / pixels.shape[1] < 2
    np.testing.assert_array_equal(pixels, slices.shaded(expected, *slices.read(packed(head())).window))


def test_nothing_to_paint_has_to_be_said() -> None:
    data = SCANS.data(HEAD, ClaimedInput("application/x-nifti", content=packed(head(), AFFINE)))
    empty = SCANS.value(HEAD, data, [NONE])
    assert isinstance(empty, bytes)
    assert not read_mask(empty)[0].any()
    assert SCANS.predictions(HEAD, data, empty) == [[NONE | {"id": "label-0"}]]
    assert "&lt;lesions&gt; &amp; none" in SCANS.config(HEAD)


def test_other_regions_are_refused() -> None:
    data = SCANS.data(HEAD, ClaimedInput("application/x-nifti", content=packed(np.ones(SHAPE, np.float32), AFFINE)))
    (good,) = painted(np.ones(SHAPE, bool), data)[:1]
    assert SCANS.value(HEAD, data, [good])
    grid = data["grid"]
    bad: dict[str, tuple[Json, list[Any]]] = {
        "nothing": (data, []),
        "both": (data, [good, NONE]),
        "another size": (data, [region(np.ones((3, 3), bool))]),
        "no code": (data, [good | {"value": {"brushlabels": ["lesion"]}}]),
        "another tool": (data, [good | {"type": "rectanglelabels"}]),
        "a huge grid": (data | {"grid": grid | {"shape": [1 << 20] * 3}}, [good]),
        "a huge sheet": (data | {"grid": grid | {"across": 1 << 40}}, [good]),
        "no grid": ({}, [good]),
        "a flat grid": (data | {"grid": grid | {"affine": np.zeros((4, 4)).tolist()}}, [good]),
        "no numbers": (data | {"grid": grid | {"shape": ["a"]}}, [good]),
    }
    for name, (fields, results) in bad.items():
        with pytest.raises(InvalidInput) as refused:
            SCANS.value(HEAD, fields, results)
        assert refused.value.code == "bad_label", name


async def test_a_mask_goes_through_the_service(three: Artefact, tmp_path: Path) -> None:
    settings: Json = {"fixed_threshold": -1.0, "keep_payload": "on", "drafts": True}
    mask = np.random.default_rng(0).random(head().shape) < 0.01
    async with serving(three, tmp_path / "home", **settings) as served:
        units = [(await served.answer(packed(head()), maps="mask"))["prediction_id"] for _ in range(2)]
        async with studio_beside("lesion", served.http, tmp_path) as studio:
            (task,) = await studio.exported("--count", "1")
            assert "predictions" not in task
            (draft,) = await studio.exported("--queue", "drafts", name="drafts.json")
            regions = draft["predictions"][0]["result"]
            assert regions[0]["type"] == "brushlabels"
            filled = [annotated(task, *painted(mask, task["data"])), annotated(draft, *regions)]
            assert outcomes(await studio.imported(filled)) == ["accepted", "accepted"]
            assert outcomes(await studio.imported(filled)) == ["duplicate", "duplicate"]
        values = [(await served.resolution(unit))["value"]["base64"] for unit in units]
    kept = [read_mask(base64.b64decode(value))[0] for value in values]
    assert any(np.array_equal(one, mask) for one in kept)
    bright = head() > 150
    assert any(np.array_equal(one, bright) or (one & bright).sum() > 0.8 * bright.sum() for one in kept)


def test_a_broken_scan_is_refused() -> None:
    with pytest.raises(InvalidInput) as refused:
        SCANS.data(HEAD, ClaimedInput("application/x-nifti", content=gzip.compress(b"no scan")))
    assert refused.value.code == "not_nifti"
