"""Masks of lesions in a browser: what is painted comes back voxel for voxel, in every orientation of the file."""

import base64
import gzip
import io
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import nibabel
import numpy as np
import pytest
from nibabel.orientations import axcodes2ornt, inv_ornt_aff, ornt_transform

from models.imaging import nifti
from models.label_errors.volumes import NormalisedDiceError
from models.tasks.lesion.spec import LESIONS
from tests.browser.chromium import Page, chromium, installed
from tests.browser.views import (
    NO_WEBGL2,
    complaints,
    drag,
    foreign_requests,
    log_in,
    next_figure,
    submitted,
)
from tests.services.review.stub_service import Prepared, StubService, console_beside

pytestmark = pytest.mark.long

SHAPE = (48, 52, 40)
"""Voxels to the right, to the front and up."""
SPACING = (1.0, 1.1, 1.3)
OCTANTS = [
    tuple(int(length * (0.36 + 0.28 * side)) for length, side in zip(SHAPE, sides, strict=True))
    for sides in product((0, 1), repeat=3)
]
"""A voxel of each octant, in the order of the world."""
ORIENTATIONS = ("RAS", "LPS", "LAS", "SLP")
VOXEL = "document.querySelector('.place').dataset.voxel"
NO_VOLUMES = """document.createElement("canvas").getContext("webgl2") === null"""
VALUE = "document.querySelector('.place').dataset.value"


@pytest.fixture(params=["volumes", "slices"])
def page(request: pytest.FixtureRequest) -> Iterator[Page]:
    with chromium(installed(), webgl=True) as tab:
        if request.param == "slices":
            tab.call("Page.addScriptToEvaluateOnNewDocument", source=NO_WEBGL2)
        yield tab


@pytest.fixture
def volumes() -> Iterator[Page]:
    with chromium(installed(), webgl=True) as tab:
        yield tab


def world() -> tuple[np.ndarray, np.ndarray]:
    """Scan in the order right, front, up, with a value of its own in each octant, and its affine."""
    places = np.stack(np.meshgrid(*(np.linspace(-1, 1, length) for length in SHAPE), indexing="ij"))
    values = np.where((places**2).sum(axis=0) < 0.8, 100 + 20 * places[0] + 10 * places[1], 0).astype(np.int16)
    for number, place in enumerate(OCTANTS):
        values[place] = 201 + number
    affine = np.diag([*SPACING, 1.0])
    affine[:3, 3] = (-20.5, -33.25, -11.0)
    return values, affine


def stored(values: np.ndarray, affine: np.ndarray, codes: str) -> tuple[np.ndarray, np.ndarray]:
    """The same voxels in another order of axes."""
    change = ornt_transform(axcodes2ornt("RAS"), axcodes2ornt(codes))
    turned = nibabel.orientations.apply_orientation(values, change)
    return np.ascontiguousarray(turned), affine @ inv_ornt_aff(change, values.shape)


def scan_file(codes: str) -> bytes:
    image = nibabel.Nifti1Image(*stored(*world(), codes))
    image.set_sform(image.affine, 2)
    image.set_qform(image.affine, 1)
    return nifti.anonymous(image.to_bytes())


def opened(page: Page, url: str, queue: str = "blind", **options: Any) -> None:
    log_in(page, url, **options)
    page.value(f"location.hash = '#/review/lesion/lesions/{queue}'")
    page.until("document.querySelector('.lesion[data-ready=yes]')", 60)
    page.until(VOXEL)


def go_to(page: Page, place: tuple[int, ...]) -> None:
    """Move the cursor by keys, from slice to slice, in radiological display."""
    cursor = [int(part) for part in page.value(VOXEL).split(",")]
    for axis, (more, less) in enumerate((("ArrowLeft", "ArrowRight"), ("ArrowUp", "ArrowDown"), (".", ","))):
        for _ in range(abs(place[axis] - cursor[axis])):
            page.press(more if place[axis] > cursor[axis] else less)
    page.until(f"{VOXEL} === '{','.join(map(str, place))}'")


def mask_of(value: dict[str, str]) -> nibabel.Nifti1Image:
    return nibabel.Nifti1Image.from_bytes(gzip.decompress(base64.b64decode(value["base64"])))


@pytest.mark.parametrize(
    ("page", "codes"),
    [
        pytest.param(display, codes, marks=[pytest.mark.slow] if place or number else [])
        for place, display in enumerate(("volumes", "slices"))
        for number, codes in enumerate(ORIENTATIONS)
    ],
    indirect=["page"],
)
def test_one_voxel_in_each_octant_comes_back(page: Page, codes: str, tmp_path: Path) -> None:
    content = scan_file(codes)
    stub = StubService(LESIONS, [Prepared("application/x-nifti", content)] * 4)
    with console_beside({"lesion": stub}) as url:
        opened(page, url)
        page.press("2")
        for number, place in enumerate(OCTANTS):
            go_to(page, place)
            if page.value(VALUE):  # the value that is shown under the cursor; pictures have none
                assert float(page.value(VALUE)) == 201 + number
            page.press(" ")
        value = submitted(page, stub.values)
        assert (complaints(page), foreign_requests(page, url)) == ([], [])
    scan = nibabel.Nifti1Image.from_bytes(gzip.decompress(content))
    mask = mask_of(value)
    assert nibabel.aff2axcodes(mask.affine) == tuple(codes)
    assert np.array_equal(np.asanyarray(mask.dataobj), np.asanyarray(scan.dataobj) >= 201)
    assert mask.get_data_dtype() == np.uint8
    for name in ("dim", "pixdim", "qform_code", "sform_code", "quatern_b", "qoffset_x", "srow_x", "srow_y", "srow_z"):
        assert np.array_equal(mask.header[name], scan.header[name]), name
    rule = NormalisedDiceError(LESIONS)
    truth = rule.label(nifti.write(np.asanyarray(scan.dataobj) >= 201, scan.affine))
    rule.check_fit(truth, rule.label(base64.b64decode(value["base64"])))
    assert rule.difference(truth, rule.label(base64.b64decode(value["base64"]))) == 0
    same_for_simpleitk(base64.b64decode(value["base64"]), content, tmp_path)


def same_for_simpleitk(mask: bytes, scan: bytes, folder: Path) -> None:
    try:
        import SimpleITK
    except ImportError:
        return  # an independent reader, where it is installed
    for name, content in (("mask", mask), ("scan", scan)):
        (folder / f"{name}.nii.gz").write_bytes(content)
    own, other = (SimpleITK.ReadImage(str(folder / f"{name}.nii.gz")) for name in ("mask", "scan"))
    assert own.GetDirection() == other.GetDirection()
    assert (own.GetOrigin(), own.GetSpacing()) == (other.GetOrigin(), other.GetSpacing())
    assert np.array_equal(SimpleITK.GetArrayFromImage(own), SimpleITK.GetArrayFromImage(other) >= 201)


def test_pictures_are_radiological_and_the_pointer_paints_where_it_is(volumes: Page) -> None:
    stub = StubService(LESIONS, [Prepared("application/x-nifti", scan_file("LPS"))] * 4)
    with console_beside({"lesion": stub}) as url:
        opened(volumes, url)
        for _ in range(2):  # the axial plane alone
            volumes.press("v")
        volumes.until("document.querySelector('.lesion').innerText.includes('Axial v')")
        left, top, width, height = volumes.value(
            "(b => [b.left, b.top, b.width, b.height])(document.querySelector('.volume').getBoundingClientRect())"
        )
        assert len(colours(volumes, left, top, width, height)) > 20, "the scan is drawn"
        volumes.press("2")
        middle = left + width / 2, top + height / 2
        drag(volumes, [(middle[0] - 60, middle[1] - 40), (middle[0] - 60, middle[1] - 80)])
        x, y, z = (int(part) for part in volumes.value(VOXEL).split(","))
        assert x > SHAPE[0] / 2 + 2, "the patient's right is on the left"
        assert y > SHAPE[1] / 2 + 2, "the front is up"
        assert "Lesions: 1" in volumes.value("document.querySelector('.mask').innerText")
        red = [
            colour for colour in colours(volumes, middle[0] - 70, middle[1] - 75, 20, 30) if colour[0] > colour[1] + 50
        ]
        assert red, "the stroke is seen"
        value = submitted(volumes, stub.values)
    painted = np.argwhere(nibabel.as_closest_canonical(mask_of(value)).get_fdata())
    assert (painted[:, 0] == x).all()
    assert (painted[:, 2] == z).all()
    assert len(painted) == painted[:, 1].max() - painted[:, 1].min() + 1 >= 3


def colours(page: Page, left: float, top: float, width: float, height: float) -> set[tuple[int, ...]]:
    image = pytest.importorskip("PIL.Image")
    clip = {"x": left, "y": top, "width": width, "height": height, "scale": 1}
    shot = base64.b64decode(page.call("Page.captureScreenshot", format="png", clip=clip)["data"])
    pixels = np.asarray(image.open(io.BytesIO(shot)).convert("RGB")).reshape(-1, 3)
    return set(map(tuple, np.unique(pixels, axis=0).tolist()))


def test_lesions_of_a_draft_are_judged_one_by_one(page: Page) -> None:
    _, affine = world()
    lesions = np.zeros(SHAPE, np.uint8)
    for number, place in enumerate(OCTANTS[:3]):
        lesions[tuple(slice(at, at + 4 - number) for at in place)] = 1
    mask, own_affine = stored(lesions, affine, "LAS")
    draft = {"base64": base64.b64encode(nifti.write(mask, own_affine)).decode()}
    stub = StubService(LESIONS, [Prepared("application/x-nifti", scan_file("LAS"), draft)] * 8)
    with console_beside({"lesion": stub}) as url:
        opened(page, url, "drafts")
        page.until("document.querySelector('.mask').innerText.includes('Lesions: 3')")
        page.press("Enter")
        page.until("document.querySelector('.message').innerText.length > 0")
        assert stub.values == {}, "a draft is no answer before something was decided"
        for key in ("n", "y", "x"):  # the largest is kept, the next one erased
            page.press(key)
        page.until("document.querySelector('.mask').innerText.startsWith('Lesions: 2')")
        page.press("z")
        page.press("x")
        page.press("z", "Control")
        page.until("document.querySelector('.mask').innerText.startsWith('Lesions: 3')")
        page.press("x")
        page.until("document.querySelector('.mask').innerText.startsWith('Lesions: 2')")
        value = submitted(page, stub.values)
        page.until(
            "document.querySelector('.mask') && document.querySelector('.mask').innerText.includes('not an answer')", 60
        )
        page.press("a")
        page.until("!document.querySelector('.mask').innerText.includes('not an answer')")
        accepted = submitted(page, stub.values)
        page.until(
            "document.querySelector('.mask') && document.querySelector('.mask').innerText.includes('not an answer')", 60
        )
        for key in ("n", "y", "x"):
            page.press(key)
        page.until("document.querySelector('.mask').innerText.startsWith('Lesions: 2')")
        page.press("a")
        page.until("document.querySelector('.mask').innerText.startsWith('Lesions: 3')")
        for place in (3, 1):
            page.press("n")
            page.until(f"document.querySelector('.label .note').innerText.includes('{place} of 3')")
        assert "not judged" in page.value("document.querySelector('.label .note').innerText"), "as before all edits"
        page.press("N", "Shift")
        page.until("document.querySelector('.mask').innerText.startsWith('Lesions: 0')")
        empty = submitted(page, stub.values)
    data = np.asanyarray(mask_of(value).dataobj)
    assert (data.sum(), (data & ~mask & 1).sum()) in (((4**3 + 2**3), 0), ((4**3 + 3**3), 0), ((3**3 + 2**3), 0))
    assert np.array_equal(np.asanyarray(mask_of(accepted).dataobj), mask)
    assert not np.asanyarray(mask_of(empty).dataobj).any()


def test_shapes_are_filled_between_slices_and_inside_of_outlines(page: Page) -> None:
    stub = StubService(LESIONS, [Prepared("application/x-nifti", scan_file("RAS"))] * 4)
    with console_beside({"lesion": stub}) as url:
        opened(page, url)
        go_to(page, (20, 20, 16))
        page.type("2m")
        for key in ("ArrowLeft",) * 6 + ("ArrowUp",) * 6 + ("ArrowRight",) * 6 + ("ArrowDown",) * 6:
            page.press(key)
        page.press("o")
        page.press("m")
        for _ in range(4):
            page.press(".")
        for key in ("2", "]", "]"):
            page.press(key)
        go_to(page, (23, 23, 20))
        page.press(" ")
        page.press("i")
        value = submitted(page, stub.values)
    data = np.asanyarray(mask_of(value).dataobj).astype(bool)
    areas = data.sum(axis=(0, 1))
    assert list(np.flatnonzero(areas)) == [16, 17, 18, 19, 20]
    assert areas[16] == 49
    assert areas[16] >= areas[17] >= areas[18] >= areas[19] >= areas[20]
    assert data[23, 23, 16:21].all()


def test_a_draft_of_another_grid_is_refused_with_a_reason(volumes: Page) -> None:
    draft = {"base64": base64.b64encode(nifti.write(np.ones((5, 5, 5), np.uint8), np.eye(4))).decode()}
    stub = StubService(LESIONS, [Prepared("application/x-nifti", scan_file("RAS"), draft)] * 4)
    with console_beside({"lesion": stub}) as url:
        opened(volumes, url, "drafts")
        assert "does not fit" in volumes.value("document.body.innerText")
    broken = StubService(LESIONS, [Prepared("application/x-nifti", b"nothing")] * 4)
    with console_beside({"lesion": broken}) as url:
        log_in(volumes, url)
        volumes.value("location.hash = '#/review/lesion/lesions/blind'")
        volumes.until("document.body.innerText.includes('cannot be shown')")


def test_a_slice_that_does_not_come_is_told_and_asked_for_again(volumes: Page) -> None:
    volumes.call("Page.addScriptToEvaluateOnNewDocument", source=NO_WEBGL2)
    stub = StubService(LESIONS, [Prepared("application/x-nifti", scan_file("RAS"))] * 2)
    with console_beside({"lesion": stub}) as url:
        opened(volumes, url)
        volumes.call("Network.setBlockedURLs", urls=["*coronal*"])
        volumes.press("t")
        volumes.until("document.querySelector('[role=alert]')?.innerText.includes('could not be loaded')")
        volumes.call("Network.setBlockedURLs", urls=[])
        volumes.value("document.querySelector('[role=alert] button').click()")
        volumes.until("!document.querySelector('[role=alert]')")
        middle = """(canvas => canvas.getContext("2d").getImageData(
          canvas.width * 0.4, canvas.height * 0.4, 1, 1).data[0] > 20)(document.querySelector(".volume canvas"))"""
        volumes.until(middle)


def test_a_scan_is_fetched_once_and_the_next_one_ahead(page: Page) -> None:
    stub = StubService(LESIONS, [Prepared("application/x-nifti", scan_file("RAS"))] * 2)
    with console_beside({"lesion": stub}) as url:
        opened(page, url)
        middle = f"slices/axial/{SHAPE[2] // 2}.png" if page.value(NO_VOLUMES) else "/input"
        first = page.value("document.querySelector('.lesion').dataset.request")

        def fetched(*, of_first: bool = False) -> list[str]:
            page.value("0")  # events up to now
            urls = [event["request"]["url"].partition("?")[0] for event in page.named("Network.requestWillBeSent")]
            ends = (middle, "/slices") if of_first else middle
            return [own for own in urls if own.endswith(ends) and (first in own) == of_first]

        end = time.monotonic() + 20
        while not fetched() and time.monotonic() < end:
            time.sleep(0.05)
        assert len(fetched()) == 1
        assert len(fetched(of_first=True)) == len(set(fetched(of_first=True))) > 0
        page.press("2")
        page.press(" ")
        submitted(page, stub.values)
        next_figure(page, "lesion", stub.values)
        page.until(VOXEL)
        time.sleep(0.3)
        assert len(fetched()) == 1
