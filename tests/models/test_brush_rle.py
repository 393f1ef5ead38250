"""Brush masks: the codes of Label Studio's own converter are read and written, and every mask comes back."""

import numpy as np
import pytest

from models.imaging import brush_rle
from models.imaging.brush_rle import BadCode

STROKES = np.zeros((5, 7), bool)
STROKES[1, 2:5] = STROKES[2, 3] = STROKES[4, 6] = True
RECORDED = [0, 0, 0, 140, 57, 27, 254, 35, 0, 183, 255, 132, 192, 35, 255, 199, 224, 17, 255, 128]
"""Code of ``STROKES`` by ``mask2rle`` of label-studio-converter 0.0.59."""
COLOURED = [0, 0, 0, 24, 57, 27, 252, 96, 0, 127, 128, 0, 0, 80, 31, 246, 192, 0, 255, 0, 0, 0, 160, 22, 128]
"""Code by ``encode_rle`` of 2 x 3 pixels: the second is (255, 0, 10, 255), the last (255, 0, 10, 90)."""


def test_recorded_codes_are_written_and_read() -> None:
    assert brush_rle.encode(STROKES) == RECORDED
    np.testing.assert_array_equal(brush_rle.decode(RECORDED, 5, 7), STROKES)


def test_a_pixel_is_marked_by_its_alpha_alone() -> None:
    expected = [[False, True, False], [False, False, False]]  # the last is less than half opaque
    np.testing.assert_array_equal(brush_rle.decode(COLOURED, 2, 3), expected)


@pytest.mark.parametrize("share", [0.0, 0.02, 0.5, 1.0])
@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (64, 60), (200, 500)])
def test_every_mask_comes_back(shape: tuple[int, int], share: float) -> None:
    mask = np.random.default_rng(7).random(shape) < share
    np.testing.assert_array_equal(brush_rle.decode(brush_rle.encode(mask), *shape), mask)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ([], "ends after 0 bytes"),
        (RECORDED[:-4], "ends after 16 bytes"),
        ([*RECORDED[:3], 139, *RECORDED[4:]], "139 values"),
        ([255, 255, 255, 255, *RECORDED[4:]], "4294967295 values"),
        ([*RECORDED[:4], 185, *RECORDED[5:]], "24 bits"),
        ([*RECORDED[:4], 63, 255, 255, 255, 255, 255, 255, 255], "a run ends at"),
        ([300], "0 to 255"),
        (["1"], "0 to 255"),
        (None, "0 to 255"),
        ("rle", "0 to 255"),
    ],
)
def test_other_numbers_are_refused(code: object, words: str) -> None:
    with pytest.raises(BadCode, match=words):
        brush_rle.decode(code, 5, 7)  # type: ignore[arg-type]
