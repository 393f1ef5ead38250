"""The figure of a scan: patients are shown the right way round, in true proportion, through the lesion that matters."""

import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from models.tasks.lesion.pictures.picture import Mark, Picture, draw
from models.tasks.lesion.pictures.slices import PLANES, bounds, crossing, upright

nibabel = pytest.importorskip("nibabel")
pytest.importorskip("matplotlib")
from matplotlib import image  # noqa: E402
from scipy import ndimage  # noqa: E402

AXIAL, CORONAL, SAGITTAL = PLANES
GRID = (140, 170, 130)
ORIENTATIONS = ("RAS", "LAS", "LPS", "PIR", "SLA")


def turned(values: np.ndarray, affine: np.ndarray, axes: str) -> tuple[np.ndarray, np.ndarray]:
    """The same volume with other axes."""
    ornt = nibabel.orientations
    change = ornt.ornt_transform(ornt.io_orientation(affine), ornt.axcodes2ornt(axes))
    return ornt.apply_orientation(values, change), affine @ ornt.inv_ornt_aff(change, values.shape)


@pytest.mark.parametrize("axes", ORIENTATIONS)
def test_directions_are_the_patients_whatever_way_axes_run(axes: str) -> None:
    values = np.zeros((6, 7, 8), np.float32)
    values[5, 3, 3], values[0, 3, 3] = 1, 2  # right, left
    values[3, 6, 3], values[3, 0, 3] = 3, 4  # front, back
    values[3, 3, 7], values[3, 3, 0] = 5, 6  # head, feet
    affine = np.diag([1.0, 2.0, 3.0, 1.0])
    affine[:3, 3] = -5, 4, 9
    other, there = turned(values, affine, axes)
    view = upright({"flair": other}, there)
    np.testing.assert_array_equal(view.volumes["flair"], values)
    np.testing.assert_allclose(view.affine, affine)
    axial, coronal, sagittal = (view.section("flair", plane, 3) for plane in PLANES)
    assert axial.shape == (7, 6)
    assert (axial[3, 0], axial[3, -1], axial[-1, 2], axial[0, 2]) == (1, 2, 3, 4)  # rows go up
    assert (coronal[3, 0], coronal[3, -1], coronal[-1, 2], coronal[0, 2]) == (1, 2, 5, 6)
    assert (sagittal[3, 0], sagittal[3, -1], sagittal[-1, 3], sagittal[0, 3]) == (3, 4, 5, 6)
    assert [plane.edges for plane in PLANES] == [("R", "L", "A", "P"), ("R", "L", "S", "I"), ("A", "P", "S", "I")]


def test_places_are_millimetres() -> None:
    view = upright({"flair": np.zeros((10, 20, 30))}, np.diag([2.0, 1.0, 3.0, 1.0]))
    assert view.extent(AXIAL) == (20, 20)
    assert view.extent(CORONAL) == (20, 90)
    assert view.place(CORONAL, (0, 5, 0)) == (19, 1.5)
    assert view.place(SAGITTAL, (0, 19, 29)) == (0.5, 88.5)
    box = bounds(np.pad(np.ones((2, 2, 2), bool), ((3, 5), (0, 18), (8, 20))), 1 / view.spacing)
    assert box == ((2.5, 5.5), (0, 3), (pytest.approx(7 + 2 / 3), pytest.approx(10 + 1 / 3)))
    assert view.window(AXIAL, box) == (9, 15, 0, 3)
    voxel = view.voxel(tuple(view.space((3, 4, 5)).tolist()))
    np.testing.assert_allclose(voxel, (3, 4, 5))
    assert bounds(np.zeros((4, 5, 6), bool), np.ones(3)) == ((0, 4), (0, 5), (0, 6))


def test_slices_go_through_the_lesion_that_holds_most_uncertainty() -> None:
    prediction = np.zeros((20, 20, 20), bool)
    prediction[2:8, 2:8, 2:8] = True  # large and certain
    prediction[14:17, 14:17, 14:17] = True
    uncertainty = np.full(prediction.shape, 0.001)
    uncertainty[14:17, 14:17, 15] = 0.5
    x, y, z = crossing(prediction, uncertainty)
    assert prediction[x, y, z]
    assert min(x, y) >= 14
    assert z == 15
    nothing = np.zeros_like(prediction)
    assert crossing(nothing, uncertainty * 0, prediction)[0] in range(2, 8)
    uncertainty[1, 2, 3] = 0.9
    assert crossing(nothing, uncertainty) == (1, 2, 3)
    assert crossing(nothing, uncertainty * 0) == (10, 10, 10)


def a_picture(spacing: tuple[float, float, float] = (1, 1, 1), axes: str = "RAS", **more: object) -> Picture:
    """An ellipsoid of 120 x 150 x 110 mm with a lesion in its right half."""
    sizes = [round(size / step) for size, step in zip((140, 170, 130), spacing, strict=True)]
    affine = np.diag([*spacing, 1.0])
    affine[:3, 3] = [-(size - 1) / 2 * step for size, step in zip(sizes, spacing, strict=True)]
    grid = np.meshgrid(*((np.arange(n) - (n - 1) / 2) * s for n, s in zip(sizes, spacing, strict=True)), indexing="ij")
    inside = (grid[0] / 60) ** 2 + (grid[1] / 75) ** 2 + (grid[2] / 55) ** 2 < 1
    flair = np.where(inside, 100 + grid[2] / 5, 0).astype(np.float32)
    apart = (grid[0] - 30) ** 2 + (grid[1] - 10) ** 2 + (grid[2] - 5) ** 2
    lesion = apart < 12**2
    flair[lesion] = 220
    uncertainty = (np.exp(-((np.sqrt(apart) - 12) ** 2) / 8) * 0.3 * inside).astype(np.float32)
    volumes = [turned(volume, affine, axes) for volume in (flair, lesion, uncertainty)]
    return Picture(
        **{
            "flair": volumes[0][0],
            "affine": volumes[0][1],
            "prediction": volumes[1][0],
            "uncertainty": volumes[2][0],
            "measure": "entropy",
            "title": "a",
            "details": "b",
            "marks": (Mark(1, (30, 10, 5), True),),
        }
        | more
    )


def pixels(picture: Picture) -> np.ndarray:
    return np.asarray(image.imread(io.BytesIO(draw(picture))))


def orange(drawn: np.ndarray) -> np.ndarray:
    red, green, blue = (drawn[..., channel] for channel in range(3))
    return (red > 0.9) & (abs(green - 0.65) < 0.08) & (blue < 0.3)


@pytest.fixture(scope="module")
def usual() -> NDArray[np.uint8]:
    return pixels(a_picture())


@pytest.mark.long
@pytest.mark.parametrize("axes", ORIENTATIONS[1:])
def test_the_picture_does_not_depend_on_the_way_axes_run(axes: str, usual: NDArray[np.uint8]) -> None:
    np.testing.assert_array_equal(pixels(a_picture(axes=axes)), usual)


@pytest.mark.parametrize("spacing", [(1, 1, 1), (1, 1, 5), (0.5, 2, 1)])
def test_a_ball_is_round_whatever_the_voxels(spacing: tuple[float, float, float]) -> None:
    drawn = orange(pixels(a_picture(spacing)))
    labels, _ = ndimage.label(ndimage.binary_dilation(drawn[160 : drawn.shape[0] // 3], iterations=3))
    spans = [(rows.stop - rows.start, columns.stop - columns.start) for rows, columns in ndimage.find_objects(labels)]
    assert len(spans) == 3
    for tall, wide in spans:
        assert tall == pytest.approx(wide, rel=0.12)


def test_a_lesion_of_the_patients_right_is_on_the_left() -> None:
    drawn = orange(pixels(a_picture(marks=())))
    column = drawn.shape[1]
    axial = drawn[200 : drawn.shape[0] // 3, : int(column * 0.28)]
    assert np.nonzero(axial)[1].mean() < axial.shape[1] / 2


@pytest.mark.long
@pytest.mark.parametrize(
    "more",
    [
        lambda: {"prediction": np.zeros(GRID, bool)},
        lambda: {"uncertainty": np.zeros(GRID, np.float32)},
        lambda: {"truth": np.zeros(GRID, bool)},
        lambda: {"flair": np.zeros(GRID, np.int16)},
        lambda: {"flair": np.full(GRID, np.nan, np.float32)},
        lambda: {"title": "$x_1$ and \\frac", "details": "$"},
        lambda: {"marks": (Mark(1, (900, 0, 0), False),)},
    ],
)
def test_what_is_missing_or_odd_is_drawn_all_the_same(more: Callable[[], dict[str, object]]) -> None:
    assert draw(a_picture(**more())).startswith(b"\x89PNG")


def test_what_cannot_be_drawn_is_refused() -> None:
    with pytest.raises(ValueError, match="one is needed"):
        draw(a_picture(prediction=np.zeros((2, 2, 2), bool)))
    with pytest.raises(ValueError, match="no direction"):
        draw(a_picture(affine=np.zeros((4, 4))))


def test_it_draws_a_real_scan(test_data: Path) -> None:
    folder = test_data / "lesion" / "ljubljana_cross_sectional" / "patient07"
    if not folder.is_dir():
        pytest.skip(f"no scans at {folder}")
    flair = nibabel.load(folder / "FLAIR.nii.gz")
    truth = np.asarray(nibabel.load(folder / "lesion_mask.nii.gz").dataobj) == 1
    values = np.asarray(flair.dataobj, np.float32)
    content = draw(Picture(values, flair.affine, np.roll(truth, 2, 0), truth * 0.1, "entropy", "07", "", truth))
    assert len(content) > 100_000
