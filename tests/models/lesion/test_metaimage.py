"""MetaImage files against ITK: voxels, directions, and what is refused."""

import itertools
from pathlib import Path

import numpy as np
import pytest

from models.evaluation.unit_errors import BadFile
from models.tasks.lesion.data import metaimage, volumes
from models.tasks.lesion.data.metaimage import MetaImage

SHAPE = (5, 4, 3)
LPS = np.array([-1.0, -1.0, 1.0])


def directions() -> list[np.ndarray]:
    """Axes in every order and with every sign, and two that are turned out of the grid."""
    odd = [
        np.eye(3)[list(order)] * np.array(signs)
        for order in itertools.permutations(range(3))
        for signs in itertools.product((1.0, -1.0), repeat=3)
    ]
    random = np.random.default_rng(1)
    return odd + [np.linalg.qr(random.normal(size=(3, 3)))[0] for _ in range(2)]


def voxels(kind: str) -> np.ndarray:
    random = np.random.default_rng(7)
    return random.integers(0, 100, SHAPE).astype(kind)


@pytest.mark.parametrize("direction", directions())
@pytest.mark.parametrize("compressed", [False, True])
def test_files_of_itk_lie_where_itk_says(tmp_path: Path, direction: np.ndarray, compressed: bool) -> None:
    itk = pytest.importorskip("SimpleITK")
    image = itk.GetImageFromArray(voxels("int16").transpose())
    image.SetSpacing((0.5, 1.25, 3.0))
    image.SetOrigin((-11.5, 20.25, 7.0))
    image.SetDirection(direction.ravel().tolist())
    path = tmp_path / "a.mha"
    for name in ("dim[0]", "ITK_original_direction", "0010|0010 name", "empty"):  # as of other formats
        image.SetMetaData(name, "" if name == "empty" else "1 0 0")
    itk.WriteImage(image, str(path), compressed)
    volume = metaimage.read(path)
    assert volume.values.dtype == np.int16
    assert volume.spacing == pytest.approx((0.5, 1.25, 3.0), rel=1e-12)
    for index in ((0, 0, 0), (4, 0, 0), (0, 3, 0), (0, 0, 2), (3, 2, 1)):
        assert volume.values[index] == image[index]
        place = np.array(image.TransformIndexToPhysicalPoint(index)) * LPS
        np.testing.assert_allclose((volume.affine @ [*index, 1])[:3], place, atol=1e-9)


@pytest.mark.parametrize("direction", directions())
def test_itk_reads_what_is_written(tmp_path: Path, direction: np.ndarray) -> None:
    itk = pytest.importorskip("SimpleITK")
    affine = np.eye(4)
    affine[:3, :3] = direction * (0.5, 1.25, 3.0)
    affine[:3, 3] = (10.5, -3.25, 99.0)
    path = tmp_path / "a.mha"
    path.write_bytes(metaimage.encoded(MetaImage(voxels("float32"), affine)))
    image = itk.ReadImage(str(path))
    np.testing.assert_array_equal(itk.GetArrayFromImage(image).transpose(), voxels("float32"))
    for index in ((0, 0, 0), (4, 3, 2), (1, 0, 2)):
        place = np.array(image.TransformIndexToPhysicalPoint(index)) * LPS
        np.testing.assert_allclose((affine @ [*index, 1])[:3], place, atol=1e-9)
    again = metaimage.read(path)
    np.testing.assert_allclose(again.affine, affine, atol=1e-12)


def test_a_nifti_file_of_itk_lies_in_the_same_place(tmp_path: Path) -> None:
    """The other way round from LPS to RAS: ITK writes both formats of one image, and both are read alike."""
    itk = pytest.importorskip("SimpleITK")
    for number, direction in enumerate(directions()):
        image = itk.GetImageFromArray(voxels("float32").transpose())
        image.SetSpacing((0.5, 1.25, 3.0))
        image.SetOrigin((-11.5, 20.25, 7.0))
        image.SetDirection(direction.ravel().tolist())
        if np.linalg.det(direction) < 0:
            continue  # ITK's NIfTI holds no mirrored axes
        for suffix in ("mha", "nii.gz"):
            itk.WriteImage(image, str(tmp_path / f"{number}.{suffix}"))
        mine, other = (volumes.read(tmp_path / f"{number}.{suffix}") for suffix in ("mha", "nii.gz"))
        np.testing.assert_array_equal(mine.values, other.values)
        np.testing.assert_allclose(mine.affine, other.affine, atol=1e-5)
        assert mine.lies_as(other)


@pytest.mark.parametrize("kind", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "float32", "float64"])
@pytest.mark.parametrize("compressed", [False, True])
def test_types_of_voxels(tmp_path: Path, kind: str, compressed: bool) -> None:
    itk = pytest.importorskip("SimpleITK")
    path = tmp_path / "a.mha"
    itk.WriteImage(itk.GetImageFromArray(voxels(kind).transpose()), str(path), compressed)
    volume = metaimage.read(path)
    assert volume.values.dtype == np.dtype(kind)
    np.testing.assert_array_equal(volume.values, voxels(kind))
    path.write_bytes(metaimage.encoded(volume))
    np.testing.assert_array_equal(itk.GetArrayFromImage(itk.ReadImage(str(path))).transpose(), voxels(kind))


GOOD = {
    "ObjectType": "Image",
    "NDims": "3",
    "BinaryData": "True",
    "DimSize": "2 1 1",
    "ElementType": "MET_SHORT",
    "ElementDataFile": "LOCAL",
}


def written(path: Path, fields: dict[str, str], voxels: bytes = b"\1\0\2\0") -> Path:
    path.write_bytes("".join(f"{name} = {value}\n" for name, value in fields.items()).encode() + voxels)
    return path


def test_large_end_first_and_old_names(tmp_path: Path) -> None:
    more = {
        "ElementByteOrderMSB": "True",
        "Position": "1 2 3",
        "Orientation": "0 1 0 1 0 0 0 0 1",
        "ElementSize": "2 1 1",
    }
    volume = metaimage.read(written(tmp_path / "a.mha", more | GOOD, b"\1\0\2\0"))
    assert volume.values.ravel().tolist() == [256, 512]
    np.testing.assert_array_equal(volume.affine[:3], [[0, -1, 0, -1], [-2, 0, 0, -2], [0, 0, 1, 3]])


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"DimSize": "9 9 9"}, "the header declares 1458 bytes of voxels; the file has 4"),
        ({"DimSize": "99999 99999 99999"}, "the header declares"),
        ({"DimSize": "2 1"}, "DimSize = 2 1; three sizes of at least 1 are needed"),
        ({"DimSize": "2 x 1"}, "cannot be read as MetaImage"),
        ({"NDims": "4"}, "NDims = 4; three axes are needed"),
        ({"ElementType": "MET_ASCII_CHAR"}, "ElementType = MET_ASCII_CHAR; one of MET_CHAR"),
        ({"ElementNumberOfChannels": "3"}, "a voxel has 3 numbers; one is needed"),
        ({"BinaryData": "False"}, "the voxels are text"),
        ({"CompressedData": "True"}, "cannot be read as MetaImage"),
        ({"ElementSpacing": "1 0 1"}, "sizes above 0 are needed"),
        ({"ElementSpacing": "1 1"}, "ElementSpacing = 1 1; 3 finite numbers are needed"),
        ({"Offset": "nan 0 0"}, "Offset = nan 0 0; 3 finite numbers are needed"),
        ({"TransformMatrix": "1 0 0 1 0 0 0 0 1"}, "three directions are needed"),
        ({"ElementDataFile": "a.raw"}, "the voxels are in 'a.raw'"),
    ],
)
def test_what_is_refused(tmp_path: Path, more: dict[str, str], says: str) -> None:
    fields = GOOD | more
    fields["ElementDataFile"] = fields.pop("ElementDataFile")
    with pytest.raises(BadFile) as caught:
        metaimage.read(written(tmp_path / "a.mha", fields))
    assert says in str(caught.value)
    assert str(tmp_path / "a.mha") in str(caught.value)


def test_what_is_no_metaimage(tmp_path: Path) -> None:
    (tmp_path / "a.mha").write_bytes(b"\x1f\x8b\x08" * 100)
    with pytest.raises(BadFile, match="the header is not made of lines"):
        metaimage.read(tmp_path / "a.mha")
    with pytest.raises(BadFile, match="cannot be read"):
        metaimage.read(tmp_path / "b.mha")
    skewed = np.eye(4)
    skewed[0, 1] = 0.5
    with pytest.raises(ValueError, match="right angles"):
        metaimage.encoded(MetaImage(voxels("uint8"), skewed))
    with pytest.raises(ValueError, match="voxels are complex"):
        metaimage.encoded(MetaImage(voxels("complex64"), np.eye(4)))
