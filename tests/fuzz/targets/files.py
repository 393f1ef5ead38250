"""Files that callers send: images, masks, maps and scenes, their headers changed field by field."""

import gzip
import io
import random
import struct
import zlib
from pathlib import Path
from typing import Any

import nibabel
import numpy as np

from models.imaging.nifti import BadImage, anonymous, read, read_voxels
from models.label_errors import BadLabel
from models.label_errors.volumes import read_mask
from models.tasks.lesion.data.image import read_scan
from models.tasks.lesion.inference.grid import model_grid
from models.tasks.motion.inference import maps, scenes
from models.tasks.motion.inference.render import Renderer
from models.tasks.motion.inference.scene_message import BadScene
from services.runtime.errors import DemurError
from tests.fuzz import made, raw, trees, wire
from tests.fuzz.target import Decoder, Target
from tests.fuzz.targets.requests import answerable, expanded
from tests.fuzz.tenants import tenant, text

_NUMBERS = (0, 1, -1, 2, 3, 7, 8, 4, 16, 64, 127, 128, 255, 512, 1024, 2048, 32767, -32768, 2**31 - 1, 2**62)
_REALS = (0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 1e-30, 1e30, 3e38, float("nan"), float("inf"), float("-inf"), 352.0, 1e9)
_GZIP = b"\x1f\x8b"


def images(folder: Path) -> Decoder:
    """NIfTI-1 and -2, of either byte order, plain and gzipped; what is read is of the size that its header says."""

    def read_image(case: bytes) -> None:
        try:
            image = read(case)
        except BadImage:
            read_voxels(case, 1 << 20)  # has fewer demands
            raise
        assert image.values.ndim == 3
        assert np.isfinite(image.values).all()
        assert np.isfinite(image.affine).all()
        again = read(anonymous(case))
        assert np.array_equal(again.values, image.values), "other voxels without a name"
        assert np.array_equal(again.affine, image.affine), "another place without a name"
        model_grid(image.values.shape, image.affine, "RAS", 1.0)  # type: ignore[arg-type]

    return Decoder(_images(), read_image, (BadImage,), image)


def scans(folder: Path) -> Decoder:
    """FLAIR, T1 and mask of one scan, together."""

    def read_files(case: bytes) -> None:
        flair, *others = made.parts(case)
        names = ("t1", "brain_mask")
        read_scan({"flair": flair} | dict(zip(names, others, strict=False)), ("flair",))

    def make(rng: random.Random, sample: bytes) -> bytes:
        pieces = made.parts(sample)
        index = rng.randrange(len(pieces))
        pieces[index] = image(rng, pieces[index])
        return made.joined(pieces)

    return Decoder([made.joined([made.scan(), made.scan(), made.scan(mask=True)])], read_files, (BadImage,), make)


def masks(folder: Path) -> Decoder:
    """Masks that label a scan: .npy in its versions, and NIfTI."""

    def read_one(case: bytes) -> None:
        mask, affine = read_mask(case)
        assert mask.ndim == 3
        assert affine is None or np.isfinite(affine).all()

    def make(rng: random.Random, sample: bytes) -> bytes:
        if sample[:2] == _GZIP or sample[:4] == b"\x5c\x01\0\0":
            return image(rng, sample)
        return raw.mutated(rng, sample)

    mask = np.zeros((4, 5, 6), np.uint8)
    mask[1:3] = 1
    samples = [made.scan(mask=True)]
    for version, order in (((1, 0), "C"), ((2, 0), "F"), ((3, 0), "C")):
        file = io.BytesIO()
        np.lib.format.write_array(file, np.asarray(mask, order=order), version, allow_pickle=False)  # type: ignore[call-overload]
        samples.append(file.getvalue())
    samples.append(gzip.compress(samples[1], mtime=0))
    return Decoder(samples, read_one, (BadLabel,), make)


def feature_maps(folder: Path) -> Decoder:
    """Prerendered maps: the header of what is compressed, and the compressed bytes."""

    def read_one(case: bytes) -> None:
        values = maps.read_rendered(case, made.grid())
        assert values.shape == made.grid().shape
        assert np.isfinite(values).all()

    def make(rng: random.Random, sample: bytes) -> bytes:
        if rng.random() < 0.4:
            return raw.mutated(rng, sample)
        content = bytearray(zlib.decompress(sample))
        head = bytearray(raw.mutated(rng, bytes(content[:128])))
        return zlib.compress(bytes(head) + bytes(content[128:]), 1)

    return Decoder([made.rendered()], read_one, (BadScene,), make, most_seconds=2.0)


def scene_messages(folder: Path) -> Decoder:
    """Scenes in protobuf; each vehicle that can be predicted is drawn."""
    return Decoder([made.scene().SerializeToString()], _drawn, (BadScene,), wire.mutated)


def scene_documents(folder: Path) -> Decoder:
    """Scenes in protobuf JSON."""
    return Decoder([text(made.bodies("motion")[0]["scene"])], _drawn, (BadScene,), trees.mutated)


def tensors(folder: Path) -> Decoder:
    """Packed maps, and who they are about."""
    from services.tasks.motion.request import MotionRequest, TensorForm

    def read_one(case: bytes) -> None:
        values = case[4:] + bytes(min(max(0, int.from_bytes(case[:4], "little", signed=True)), 1 << 21))
        expanded("motion", MotionRequest(TensorForm(values)))

    tensor = made.feature_map().tobytes()
    start = struct.pack("<i", len(tensor) - 2000) + tensor[:2000]
    assert tenant("motion")
    return Decoder([start], answerable(read_one), (DemurError,))


def image(rng: random.Random, sample: bytes) -> bytes:
    """An image with another header, or other bytes; now and then packed in parts, twice, or not at all."""
    packed = sample[:2] == _GZIP
    content = bytearray(gzip.decompress(sample) if packed else sample)
    if rng.random() < 0.75:
        for _ in range(rng.choice((1, 1, 2, 3))):
            _change_header(rng, content)
    else:
        content[:] = raw.mutated(rng, bytes(content))
    if not packed:
        return bytes(content)
    kind = rng.randrange(16)
    if kind == 0:
        return bytes(content)
    compressed = gzip.compress(bytes(content), 1, mtime=0)
    if kind == 1:
        return raw.mutated(rng, compressed)
    if kind == 2:
        return compressed[: rng.randrange(len(compressed))]
    if kind == 3:
        return compressed + compressed
    if kind == 4:
        cut = rng.randrange(len(content) + 1)
        return gzip.compress(bytes(content[:cut]), mtime=0) + gzip.compress(bytes(content[cut:]), mtime=0)
    if kind == 5:
        return gzip.compress(bytes(content) + bytes(1 << 22), mtime=0)  # goes on for four megabytes
    if kind == 6:
        return gzip.compress(compressed, mtime=0)
    return compressed


def _change_header(rng: random.Random, content: bytearray) -> None:
    second = content[:4] in (struct.pack("<i", 540), struct.pack(">i", 540))
    kind: Any = nibabel.Nifti2Header if second else nibabel.Nifti1Header
    order = ">" if content[:2] == b"\0\0" else "<"
    dtype = np.dtype(kind.template_dtype).newbyteorder(order)
    if len(content) < dtype.itemsize:
        return
    header = np.frombuffer(content, dtype, 1)  # writes into the content
    name = rng.choice(_FIELDS)
    field = header[name]
    with np.errstate(all="ignore"):
        if field.dtype.kind == "f":
            field.reshape(-1)[rng.randrange(field.size)] = rng.choice(_REALS)
        elif field.dtype.kind in "iu":
            limits = np.iinfo(field.dtype)
            field.reshape(-1)[rng.randrange(field.size)] = min(max(rng.choice(_NUMBERS), limits.min), limits.max)


_FIELDS = (
    *("dim", "dim", "dim", "datatype", "datatype", "bitpix", "pixdim", "pixdim", "vox_offset", "vox_offset"),
    *("scl_slope", "scl_inter", "qform_code", "sform_code", "quatern_b", "quatern_c", "quatern_d", "qoffset_x"),
    *("srow_x", "srow_y", "srow_z", "xyzt_units", "sizeof_hdr", "intent_code", "slice_end", "cal_max"),
)


def _images() -> list[bytes]:
    values = np.frombuffer(np.random.default_rng(0).bytes(10 * 11 * 12 * 2), np.int16).reshape(10, 11, 12)
    samples = [made.scan()]
    for kind, endianness, voxels in (
        (nibabel.Nifti1Header, "<", "i2"),
        (nibabel.Nifti1Header, ">", "f4"),
        (nibabel.Nifti2Header, "<", "u1"),
        (nibabel.Nifti2Header, ">", "f8"),
    ):
        header: Any = kind(endianness=endianness)
        dtype = np.dtype(voxels).newbyteorder(endianness)
        header.set_data_shape(values.shape)
        header.set_data_dtype(dtype)
        header.set_sform(np.diag([5.0, -5.0, 5.0, 1.0]), 1)
        header.set_qform(np.diag([5.0, -5.0, 5.0, 1.0]), 1)
        header["vox_offset"] = header.sizeof_hdr + 4
        header["magic"] = b"n+1" if header.sizeof_hdr == 348 else header["magic"]
        content = header.binaryblock + bytes(4) + values.clip(0, 200).astype(dtype).tobytes(order="F")
        samples += [content, gzip.compress(content, mtime=0)]
    return samples


def _drawn(case: bytes) -> None:
    scene = scenes.parse(case)
    for track in scenes.requested(scene)[:2]:
        agent = scenes.agent(scene, track)
        drawn = Renderer(scene, made.grid()).draw(agent)
        maps.check(drawn)
        past = scenes.past(scene, agent)
        assert past.shape == (scene.steps, 2)


TARGETS: dict[str, Target] = {
    "nifti": Target(2_500, images),
    "nifti-scans": Target(500, scans),
    "masks": Target(3_000, masks),
    "feature-maps": Target(300, feature_maps),
    "tensors": Target(300, tensors),
    "scene-messages": Target(500, scene_messages),
    "scene-documents": Target(150, scene_documents),
}
