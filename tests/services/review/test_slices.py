"""Slices of scans: every voxel is where radiologists expect it, whatever the order of the file."""

import gzip
import io
import os
from itertools import permutations, product
from pathlib import Path

import nibabel
import numpy as np
import pytest

from services.review import slices
from services.runtime.errors import InvalidInput
from tests.models.lesion.heads import head, packed
from tests.services.review.inputs import LEASE, Kept, client

BASE = f"/api/tasks/lesion/requests/{'a' * 32}/slices"
SHAPE = (5, 6, 7)
"""Voxels to the right, to the front and up."""


def volume() -> np.ndarray:
    """Each voxel has a value of its own, in the order right, front, up."""
    return np.arange(np.prod(SHAPE), dtype=np.int16).reshape(SHAPE)


def orientations() -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    return [*product(permutations(range(3)), product((1, -1), repeat=3))]


def stored(order: tuple[int, ...], signs: tuple[int, ...]) -> bytes:
    """A file whose axis i runs along axis ``order[i]`` of the world, in the direction ``signs[i]``."""
    values = volume().transpose(order)[tuple(slice(None, None, sign) for sign in signs)]
    affine = np.eye(4)
    affine[:3, :3] = 0
    for axis, (world, sign) in enumerate(zip(order, signs, strict=True)):
        affine[world, axis] = sign
        affine[world, 3] = 0 if sign > 0 else SHAPE[world] - 1
    return packed(np.ascontiguousarray(values), affine)


def pixels(content: bytes) -> np.ndarray:
    image = pytest.importorskip("PIL.Image")
    return np.asarray(image.open(io.BytesIO(content)))


@pytest.mark.parametrize(("order", "signs"), orientations())
def test_every_voxel_is_in_its_radiological_place(order: tuple[int, ...], signs: tuple[int, ...]) -> None:
    scan = slices.read(stored(order, signs))
    values = volume()
    for number in range(SHAPE[2]):  # the right is on the left, the front at the top
        assert np.array_equal(scan.picture("axial", number, 0, 255), values[::-1, ::-1, number].T)
    for number in range(SHAPE[1]):
        assert np.array_equal(scan.picture("coronal", number, 0, 255), values[::-1, number, ::-1].T)
    for number in range(SHAPE[0]):  # the nose is on the left
        assert np.array_equal(scan.picture("sagittal", number, 0, 255), values[number, ::-1, ::-1].T)


def test_the_axes_of_a_plane_lead_back_to_the_voxels_of_the_file() -> None:
    """As the page does with what is painted."""
    for order, signs in orientations():
        scan = slices.read(stored(order, signs))
        caller = client(slices.routes(Kept("application/x-nifti", stored(order, signs))))
        document = caller.get(BASE, headers=LEASE).json()
        for name, plane in document["planes"].items():
            number, row, column = 2, 1, 3
            picture = scan.picture(name, number, 0, 255)
            assert picture.shape == (plane["rows"], plane["columns"])
            voxel = [0, 0, 0]
            for place, (axis, direction) in zip((column, row, number), plane["axes"], strict=True):
                voxel[axis] = place if direction > 0 else document["shape"][axis] - 1 - place
            assert scan.values[tuple(voxel)] == picture[row, column]


def test_pictures_are_png_with_the_window_that_is_asked_for() -> None:
    content = packed(head())
    caller = client(slices.routes(kept := Kept("application/x-nifti", content)))
    document = caller.get(BASE, headers=LEASE).json()
    low, high = document["window"]
    assert 50 < low < 100 < high < 200
    answer = caller.get(f"{BASE}/axial/26.png", headers=LEASE)
    assert (answer.headers["content-type"], answer.headers["cache-control"]) == ("image/png", "no-store")
    usual = pixels(answer.content)
    assert (usual.shape, int(usual.min()), int(usual.max())) == ((60, 56), 0, 255)
    narrow = pixels(caller.get(f"{BASE}/axial/26.png?low=170&high=175", headers=LEASE).content)
    assert 0 < (narrow > 0).sum() < 60, "the spot only"
    assert kept.fetched == 1, "the unpacked scan is kept"


def test_the_header_is_that_of_the_file() -> None:
    content = packed(head())
    scan = slices.read(content)
    assert scan.header[:348] == gzip.decompress(content)[:348]
    big = nibabel.Nifti2Image(head().astype(">f4"), np.eye(4), nibabel.Nifti2Header(endianness=">"))
    assert slices.read(big.to_bytes()).header[:540] == big.to_bytes()[:540]


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/axial/52.png", 404, "no_slice"),
        ("/oblique/1.png", 404, "no_plane"),
        ("/axial/1.png?low=5&high=5", 422, "out_of_range"),
        ("/axial/1.png?low=nan", 422, "not_a_number"),
        ("/axial/1.png?high=<b>", 422, "not_a_number"),
    ],
)
def test_other_slices_are_refused(path: str, status: int, code: str) -> None:
    caller = client(slices.routes(Kept("application/x-nifti", packed(head()))))
    answer = caller.get(BASE + path, headers=LEASE)
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)


def test_other_inputs_are_refused() -> None:
    caller = client(slices.routes(kept := Kept("application/x-protobuf", b"")))
    assert caller.get(BASE, headers=LEASE).status_code == 415
    kept.media_type, kept.content = "application/x-nifti", packed(head())[:5000]
    assert caller.get(BASE, headers=LEASE).json()["error"]["code"] == "truncated"
    kept.content = b"<html>"
    assert caller.get(BASE, headers=LEASE).json()["error"]["code"] == "not_nifti"
    with pytest.raises(InvalidInput):
        slices.read(packed(np.zeros((4, 4, 4, 2), np.float32)))


def test_a_lease_is_checked_for_each_reviewer() -> None:
    caller = client(slices.routes(kept := Kept("application/x-nifti", packed(head()))))
    assert caller.get(BASE, headers=LEASE).status_code == 200
    assert caller.get(BASE, headers={"demur-lease": "0" * 32}).status_code == 409
    assert caller.get(BASE, headers=LEASE | {"authorization": "Bearer other"}).status_code == 200
    assert kept.fetched == 3


def test_the_cache_forgets_what_is_old_or_too_much() -> None:
    now = [0.0]
    scan = slices.read(packed(head()))
    cache = slices.ScanCache(2 * scan.values.nbytes, monotonic=lambda: now[0])
    for key in "abc":
        cache.put(key, scan)
    assert [cache.get(key) is not None for key in "abc"] == [False, True, True]
    now[0] = slices.KEPT_SECONDS + 1
    assert cache.get("c") is None
    small = slices.ScanCache(10)
    small.put("a", scan)
    assert small.get("a") is None


def test_values_that_are_not_finite_are_black() -> None:
    values = head()
    values[10:20] = np.nan
    scan = slices.read(packed(values))
    assert not scan.picture("sagittal", 12, 0, 200).any()
    assert np.isfinite(scan.window).all()
    assert slices.read(packed(np.zeros(SHAPE, np.float32))).window == (0.0, 1.0)


def test_a_real_scan_has_tissue_in_all_planes() -> None:
    path = Path(os.environ.get("DEMUR_TEST_DATA", "none")) / "lesion" / "ljubljana_cross_sectional" / "patient07"
    if not path.is_dir():
        pytest.skip(f"no scan at {path}; set DEMUR_TEST_DATA")
    scan = slices.read((path / "FLAIR.nii.gz").read_bytes())
    canonical = nibabel.as_closest_canonical(nibabel.load(path / "FLAIR.nii.gz")).get_fdata()
    for plane, expected in (
        ("axial", canonical[::-1, ::-1, 90].T),
        ("coronal", canonical[::-1, 90, ::-1].T),
        ("sagittal", canonical[90, ::-1, ::-1].T),
    ):
        picture = scan.picture(plane, 90, *scan.window)
        low, high = scan.window
        np.testing.assert_allclose(picture, np.clip((expected - low) / (high - low) * 255, 0, 255), atol=0.51)
        assert 0.2 < (picture > 40).mean() < 0.9
