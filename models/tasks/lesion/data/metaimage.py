"""MetaImage files (``.mha``), the volume format of Grand Challenge and ITK: a text header, then the voxels.

Coordinates are LPS: x grows to the patient's left, y to the back, z to the head. Those of NIfTI are RAS, so x and y
change sign. A row of ``TransformMatrix`` is the direction in which the index of one axis grows.
"""

import math
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.evaluation.unit_errors import BadFile

SUFFIX = ".mha"
LARGEST_BYTES = 1 << 31
"""Limit of the size of a file's voxels; a header that declares more is refused before decompression."""
_TYPES = {
    "MET_CHAR": "i1",
    "MET_UCHAR": "u1",
    "MET_SHORT": "i2",
    "MET_USHORT": "u2",
    "MET_INT": "i4",
    "MET_UINT": "u4",
    "MET_LONG": "i4",
    "MET_ULONG": "u4",
    "MET_LONG_LONG": "i8",
    "MET_ULONG_LONG": "u8",
    "MET_FLOAT": "f4",
    "MET_DOUBLE": "f8",
}
_NAMES = {np.dtype(kind): name for name, kind in _TYPES.items() if name not in ("MET_LONG", "MET_ULONG")}
_HEADER_BYTES = 1 << 16
_LINE = re.compile(rb"[ \t]*([^=\r\n]{1,200}?)[ \t]*=[ \t]*([^\r\n]*?)[ \t]*\r?\n")
"""Line of a header. Names may have any characters: ITK writes ``dim[0]`` of a NIfTI file."""
_LPS = np.array([-1.0, -1.0, 1.0])
"""Signs between LPS and RAS."""
_ORTHOGONAL = 1e-3


@dataclass(frozen=True)
class MetaImage:
    """A volume with its coordinate system."""

    values: NDArray[Any]
    """Voxels [x, y, z]."""
    affine: NDArray[np.float64]
    """Affine from index to position, mm, RAS as in NIfTI, [4, 4]."""

    @property
    def spacing(self) -> tuple[float, ...]:
        """Edges of a voxel, mm."""
        return tuple(np.linalg.norm(self.affine[:3, :3], axis=0).tolist())


def read(path: Path) -> MetaImage:
    """Read a volume of three axes.

    Raises:
        BadFile: the file cannot be read, is truncated or damaged, or is not a MetaImage that contains its own voxels
            with one number each.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise BadFile(f"{path} cannot be read: {error}") from error
    try:
        fields, start = _header(content)
        return _image(fields, content, start)
    except (ValueError, OverflowError, zlib.error) as error:
        raise BadFile(f"{path} cannot be read as MetaImage: {error}") from error


def encoded(image: MetaImage) -> bytes:
    """Encode a volume as a compressed file.

    Raises:
        ValueError: MetaImage does not have the type of the voxels, or the axes are not at right angles.
    """
    dtype = np.dtype(image.values.dtype).newbyteorder("=")
    if dtype not in _NAMES:
        raise ValueError(f"voxels are {dtype}; MetaImage has {', '.join(str(known) for known in _NAMES)}")
    matrix = image.affine[:3, :3] * _LPS[:, None]
    spacing = np.linalg.norm(matrix, axis=0)
    directions = matrix / spacing
    if not np.allclose(directions.T @ directions, np.eye(3), atol=_ORTHOGONAL):
        raise ValueError("the axes of the voxels are not at right angles, which MetaImage cannot express")
    packed = zlib.compress(np.asarray(image.values, dtype.newbyteorder("<")).tobytes(order="F"), 6)
    fields = {
        "ObjectType": "Image",
        "NDims": "3",
        "BinaryData": "True",
        "BinaryDataByteOrderMSB": "False",
        "CompressedData": "True",
        "CompressedDataSize": str(len(packed)),
        "TransformMatrix": _numbers(directions.T.ravel()),
        "Offset": _numbers(image.affine[:3, 3] * _LPS),
        "CenterOfRotation": "0 0 0",
        "ElementSpacing": _numbers(spacing),
        "DimSize": " ".join(map(str, image.values.shape)),
        "ElementType": _NAMES[dtype],
        "ElementDataFile": "LOCAL",
    }
    return "".join(f"{name} = {value}\n" for name, value in fields.items()).encode() + packed


def _header(content: bytes) -> tuple[dict[str, str], int]:
    """Return the fields of the header, and the offset of the voxels."""
    fields: dict[str, str] = {}
    place = 0
    while "ElementDataFile" not in fields:
        line = _LINE.match(content[:_HEADER_BYTES], place)
        if line is None:
            raise ValueError("the header is not made of lines `name = value` up to ElementDataFile")
        fields[line[1].decode(errors="replace")] = line[2].decode(errors="replace")
        place = line.end()
    return fields, place


def _image(fields: Mapping[str, str], content: bytes, start: int) -> MetaImage:
    if fields["ElementDataFile"] != "LOCAL":
        raise ValueError(f"the voxels are in {fields['ElementDataFile']!r}; a file that holds its own voxels is needed")
    if fields.get("NDims") != "3":
        raise ValueError(f"NDims = {fields.get('NDims')}; three axes are needed")
    if fields.get("ElementNumberOfChannels", "1") != "1":
        raise ValueError(f"a voxel has {fields['ElementNumberOfChannels']} numbers; one is needed")
    if not _true(fields, "BinaryData", "True"):
        raise ValueError("the voxels are text (BinaryData = False); binary ones are needed")
    shape = tuple(int(size) for size in fields.get("DimSize", "").split())
    if len(shape) != 3 or min(shape) < 1:
        raise ValueError(f"DimSize = {fields.get('DimSize')}; three sizes of at least 1 are needed")
    name = fields.get("ElementType", "")
    if name not in _TYPES:
        raise ValueError(f"ElementType = {name or 'missing'}; one of {', '.join(_TYPES)} is needed")
    largest_first = _true(fields, "BinaryDataByteOrderMSB", fields.get("ElementByteOrderMSB", "False"))
    kind = np.dtype((">" if largest_first else "<") + _TYPES[name])
    values = np.frombuffer(_voxels(fields, content[start:], math.prod(shape) * kind.itemsize), kind)
    return MetaImage(values.reshape(shape, order="F").astype(kind.newbyteorder("=")), _affine(fields))


def _voxels(fields: Mapping[str, str], data: bytes, size: int) -> bytes:
    if size > LARGEST_BYTES:
        raise ValueError(f"the header declares {size} bytes of voxels; at most {LARGEST_BYTES} are read")
    if _true(fields, "CompressedData", "False"):
        unpacker = zlib.decompressobj()
        data = unpacker.decompress(data, size + 1)
    if len(data) != size:
        raise ValueError(f"the header declares {size} bytes of voxels; the file has {len(data)}")
    return data


def _affine(fields: Mapping[str, str]) -> NDArray[np.float64]:
    directions = _vector(fields, ("TransformMatrix", "Rotation", "Orientation"), "1 0 0 0 1 0 0 0 1").reshape(3, 3).T
    offset = _vector(fields, ("Offset", "Position", "Origin"), "0 0 0")
    spacing = _vector(fields, ("ElementSpacing", "ElementSize"), "1 1 1")
    if not (spacing > 0).all():
        raise ValueError(f"ElementSpacing = {spacing.tolist()} mm; sizes above 0 are needed")
    if abs(np.linalg.det(directions)) < _ORTHOGONAL:
        raise ValueError(f"TransformMatrix = {directions.T.ravel().tolist()}; three directions are needed")
    affine = np.eye(4)
    affine[:3, :3] = directions * spacing * _LPS[:, None]
    affine[:3, 3] = offset * _LPS
    return affine


def _vector(fields: Mapping[str, str], names: tuple[str, ...], default: str) -> NDArray[np.float64]:
    name = next((name for name in names if name in fields), names[0])
    text = fields.get(name, default)
    try:
        vector = np.array(text.split(), np.float64)
    except ValueError:
        vector = np.empty(0)
    if vector.size != len(default.split()) or not np.isfinite(vector).all():
        raise ValueError(f"{name} = {text}; {len(default.split())} finite numbers are needed")
    return vector


def _true(fields: Mapping[str, str], name: str, default: str) -> bool:
    return fields.get(name, default).strip().lower() in ("true", "1")


def _numbers(values: NDArray[np.float64]) -> str:
    return " ".join(repr(float(value) + 0.0) for value in values)
