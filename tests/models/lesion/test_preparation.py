"""What the networks take: normalised as MONAI does it, at 1 mm, in their orientation."""

import numpy as np
import pytest

from models.imaging.nifti import BadImage
from models.tasks.lesion.artefact.recipe import Recipe
from models.tasks.lesion.data.image import read_scan
from models.tasks.lesion.inference.preparation import Prepared, prepare
from tests.models.lesion.heads import head, packed

HEAD = head()


def prepared(values: np.ndarray = HEAD, affine: np.ndarray | None = None, **recipe: object) -> Prepared:
    return prepare(read_scan({"flair": packed(values, affine)}, ("flair",)), Recipe(**recipe))  # type: ignore[arg-type]


def test_normalisation_is_that_of_monai() -> None:
    from monai.transforms import NormalizeIntensity

    for values in (HEAD, (HEAD * 30).astype(np.int16), HEAD.astype(">f8") * 1e-4, HEAD - 1000 * (HEAD > 0)):
        expected = NormalizeIntensity(nonzero=True)(np.asarray(values, np.float32)[None])
        actual = prepared(values).image
        assert actual.dtype == np.float32
        assert np.allclose(actual, np.asarray(expected), atol=1e-4)
        assert np.array_equal(actual == 0, np.asarray(values)[None] == 0)


def test_a_turned_scan_gives_the_networks_the_same_image() -> None:
    straight = prepared()
    turned = np.zeros((4, 4))
    turned[0, 1], turned[1, 2], turned[2, 0], turned[3, 3] = -1, 1, -1, 1
    turned[:3, 3] = HEAD.shape[0] - 1, 0, HEAD.shape[2] - 1
    lying = np.transpose(HEAD[::-1, :, ::-1], (2, 0, 1))
    other = prepared(lying, turned)
    assert np.array_equal(other.image, straight.image)
    assert np.array_equal(other.brain, straight.brain)
    assert np.allclose(other.grid.affine, straight.grid.affine)
    assert np.array_equal(other.back(other.image[0]), prepared(lying, np.eye(4), orientation="").image[0])


def test_a_resampled_scan_keeps_its_brain() -> None:
    fine = prepared(HEAD, np.diag([1.6, 1.4, 1.7, 1]))
    assert fine.resampled
    assert fine.grid.shape == (90, 84, 89)
    assert fine.brain_ml == pytest.approx(np.count_nonzero(HEAD) * 1.6 * 1.4 * 1.7 / 1000, rel=0.02)
    inside = fine.image[0][fine.image[0] != 0]
    assert (float(inside.mean()), float(inside.std())) == pytest.approx((0, 1), abs=1e-3)
    assert not prepared().resampled


def test_an_image_of_one_value_is_refused() -> None:
    with pytest.raises(BadImage, match="standard deviation of 0") as caught:
        prepared((HEAD > 0) * 7.0)
    assert (caught.value.code, caught.value.field) == ("constant", "flair")
