"""The inputs of a scan fit together, or the one that does not is named."""

import gzip
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from scipy import ndimage

from models.imaging.nifti import BadImage
from models.tasks.lesion.artefact.recipe import Channel
from models.tasks.lesion.data.image import Scan, filled, read_scan
from tests.models.lesion.heads import head, packed
from tests.work import unpacked

HEAD = head()
FLAIR = packed(HEAD)
BOTH: tuple[Channel, ...] = ("flair", "t1")


def refused(code: str, field: str, channels: tuple[Channel, ...] = BOTH, **files: bytes) -> BadImage:
    """Reads what is to be refused, in bounded memory and without unpacking more than a head a file."""
    tracemalloc.start()
    try:
        with unpacked() as array, pytest.raises(BadImage) as caught:
            read_scan(files, channels)
        assert array.nbytes <= len(files) * (352 + HEAD.nbytes + 4097)  # header, voxels, zeros that pad and one more
        assert tracemalloc.get_traced_memory()[1] < 12 * 2**20
    finally:
        tracemalloc.stop()
    assert (caught.value.code, caught.value.field) == (code, field)
    return caught.value


def test_channels_come_in_the_order_of_the_recipe() -> None:
    scan = read_scan({"flair": FLAIR, "t1": packed(HEAD * 2)}, ("t1", "flair"))
    assert np.array_equal(scan.channels[0], HEAD * 2)
    assert np.array_equal(scan.channels[1], HEAD)
    assert scan.flair is scan.channels[1]
    assert read_scan({"flair": FLAIR, "t1": packed(HEAD * 2)}, ("flair",)).names == ("flair",)


def test_inputs_that_do_not_fit_are_named() -> None:
    assert "t1 is missing" in refused("missing", "t1", flair=FLAIR).message
    refused("missing", "flair", t1=FLAIR)
    refused("missing", "flair", ("t1",), t1=FLAIR)
    refused("not_nifti", "t1", flair=FLAIR, t1=b"what?")
    refused("truncated", "flair", flair=FLAIR[:-9])
    refused("trailing_bytes", "t1", flair=FLAIR, t1=gzip.compress(gzip.decompress(FLAIR) + bytes(1 << 24), 1))
    refused("empty", "flair", flair=packed(HEAD * 0))
    assert "resample" in refused("other_grid", "t1", flair=FLAIR, t1=packed(HEAD[1:])).message
    moved = np.eye(4)
    moved[0, 3] = 2
    error = refused("other_grid", "t1", flair=FLAIR, t1=packed(HEAD, moved))
    assert (error.value, error.unit) == ("2", "mm")
    turned = np.eye(4)
    turned[:2, :2] = [[np.cos(0.01), -np.sin(0.01)], [np.sin(0.01), np.cos(0.01)]]
    refused("other_grid", "t1", flair=FLAIR, t1=packed(HEAD, turned))
    refused("other_grid", "brain_mask", ("flair",), flair=FLAIR, brain_mask=packed(np.ones((56, 60, 50), np.uint8)))
    refused("not_a_mask", "brain_mask", ("flair",), flair=FLAIR, brain_mask=packed(HEAD))
    refused("empty", "brain_mask", ("flair",), flair=FLAIR, brain_mask=packed(np.zeros(HEAD.shape, np.uint8)))


def test_places_that_differ_by_rounding_are_the_same() -> None:
    moved = np.eye(4)
    moved[:3, 3] = 0.03
    assert read_scan({"flair": FLAIR, "t1": packed(HEAD, moved)}, BOTH).affine[0, 3] == 0


def test_the_brain_is_the_mask_or_what_is_not_zero_with_its_holes() -> None:
    holed = HEAD.copy()
    holed[25:30, 28:33, 24:28] = 0
    assert np.array_equal(read_scan({"flair": packed(holed)}, ("flair",)).brain, HEAD != 0)
    mask = np.zeros(HEAD.shape, np.float32)
    mask[20:30, 20:30, 20:30] = 1
    scan = read_scan({"flair": FLAIR, "brain_mask": packed(mask)}, ("flair",))
    assert np.array_equal(scan.brain, mask == 1)


def test_holes_are_those_that_scipy_fills() -> None:
    rng = np.random.default_rng(0)
    for threshold in (-0.3, 0, 0.3):
        mask = ndimage.gaussian_filter(rng.standard_normal((30, 24, 20)), 1.2) > threshold * 0.2
        for whole in (mask, np.pad(mask, 3), np.asfortranarray(np.pad(mask, ((3, 0), (0, 2), (0, 0))))):
            assert np.array_equal(filled(whole), ndimage.binary_fill_holes(whole))
    assert filled(np.ones((4, 4, 4), bool)).all()
    assert not filled(np.zeros((4, 4, 4), bool)).any()


def test_real_images_of_one_patient_lie_on_one_grid(test_data: Path) -> None:
    for folder, flair, t1 in (
        ("ljubljana_cross_sectional/patient07", "FLAIR", "T1"),
        ("ljubljana_longitudinal_raw/patient20", "study2_FLAIR", "study2_T1W"),
    ):
        files = {
            name: (test_data / "lesion" / folder / f"{file}.nii.gz").read_bytes()
            for name, file in (("flair", flair), ("t1", t1))
        }
        scan: Scan = read_scan(files, BOTH)
        assert scan.brain.mean() > 0.15
