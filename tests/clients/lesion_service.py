"""A small lesion service that keeps the contract, on a real socket, with answers that are known."""

import gzip
import hashlib
import queue
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import grpc
import nibabel
import numpy as np

from demur.v1 import common_pb2 as common
from demur.v1 import lesion_pb2 as wire
from demur.v1.lesion_pb2_grpc import LesionServiceServicer, add_LesionServiceServicer_to_server
from tests.clients.stand_in import PROFILE, UnitStandIn

MAPS = ("mask", "probability", "total", "data", "knowledge", "rmi", "advice")
SINGLE = ("mask", "probability", "total", "advice")
PIECE_BYTES = 1 << 20
INPUTS = {wire.LESION_INPUT_FLAIR: "flair", wire.LESION_INPUT_T1: "t1", wire.LESION_INPUT_BRAIN_MASK: "brain_mask"}

Images = dict[str, bytes]


def canned(name: str, flair: bytes, size: int = 64) -> bytes:
    """What a map of a scan is that is no image: bytes which tell both."""
    start = f"{name} of {hashlib.sha256(flair).hexdigest()} ".encode()
    return start * max(1, size // len(start))


def volumes(flair: bytes) -> dict[str, bytes]:
    """Maps of a NIfTI image on its grid: lesion is what is brighter than 3, uncertain what is near that."""
    image = nibabel.Nifti1Image.from_bytes(gzip.decompress(flair) if flair[:2] == b"\x1f\x8b" else flair)
    values = np.asarray(image.dataobj, np.float32)
    probability = np.where(values == 0, 0, 1 / (1 + np.exp(-3 * (values - 3)))).astype(np.float32)
    inside = np.clip(probability, 1e-6, 1 - 1e-6)
    total = np.where(values == 0, 0, -inside * np.log(inside) - (1 - inside) * np.log1p(-inside)).astype(np.float32)
    arrays = {"mask": (probability >= 0.5).astype(np.uint8), "probability": probability, "total": total}
    arrays |= {"data": 0.75 * total, "knowledge": 0.25 * total, "rmi": 0.2 * total}
    arrays["advice"] = (total > 0.5).astype(np.uint8)
    return {
        name: gzip.compress(nibabel.Nifti1Image(value, image.affine).to_bytes(), 1) for name, value in arrays.items()
    }


@dataclass
class LesionStandIn(UnitStandIn, LesionServiceServicer):
    """The service, with what a test wants to see of it and do to it."""

    register = staticmethod(add_LesionServiceServicer_to_server)
    task, epoch, threshold = "lesion", 0xFEED, 0.3
    head = common.HeadSpec(name="lesions", kind="volume", measure="scan_structural_uncertainty")
    images: bool = False
    """Whether scans are NIfTI images and answered as such; otherwise any bytes will do."""
    size: int = 64
    """Bytes of a map that is no image."""
    channels: tuple[str, ...] = ("flair",)
    maps: tuple[str, ...] = MAPS
    inline: bool = False
    """Whether files come in the result instead of before it."""
    scans: list[Images] = field(default_factory=list)
    largest_piece: int = 0

    def Describe(self, request, context):
        described = super().Describe(request, context)
        described.features.extend(common.FeatureSpec(name=name, unit="1") for name in self.channels)
        return described

    def PredictStream(self, requests, context):
        begin = self.begun(requests, context)
        yield wire.LesionStreamResponse(accepted=self.accepted())
        complete: queue.SimpleQueue[Any] = queue.SimpleQueue()
        begun = answered = 0

        def read() -> None:
            nonlocal begun
            try:
                head, images = wire.LesionScan(), {}
                for frame in requests:
                    kind = frame.WhichOneof("frame")
                    if kind == "scan":
                        head, images = frame.scan, {}
                        begun += 1
                        self.unanswered(begun - answered)
                    elif kind == "piece":
                        self.largest_piece = max(self.largest_piece, len(frame.piece.content))
                        name = INPUTS[frame.piece.input]
                        images[name] = images.get(name, b"") + frame.piece.content
                    elif kind == "end":
                        complete.put((head, images))
            except grpc.RpcError:
                pass  # cancelled
            finally:
                complete.put(None)

        threading.Thread(target=read, daemon=True).start()
        while (item := complete.get()) is not None:
            head, images = item
            self.requests.append(head)
            self.scans.append(images)
            time.sleep(self.seconds)
            frames = list(self._frames(head, images, begin))
            answered += 1
            yield from frames
        yield wire.LesionStreamResponse(progress=common.StreamProgress(chunks_done=answered, units_done=answered))

    def _frames(self, head: wire.LesionScan, images: Images, begin: Any) -> Iterator[wire.LesionStreamResponse]:
        sequence = head.sequence
        yield wire.LesionStreamResponse(progress=common.StreamProgress(units_done=7, fraction=0.5))  # of no scan
        for share, stage in ((0.25, "windows"), (0.75, "maps")):
            progress = common.StreamProgress(sequence=sequence, fraction=share, stage=stage)
            yield wire.LesionStreamResponse(progress=progress)
        if images["flair"].startswith(b"bad"):
            message = "flair is not NIfTI: needed a .nii or .nii.gz file"
            error = common.ErrorDetail(code="not_an_image", message=message, field="flair", index=-1)
            yield wire.LesionStreamResponse(error=common.ItemError(sequence=sequence, error=error))
            return
        answer = self.answer(len(self.scans) - 1, images["flair"], begin)
        response = wire.LesionPredictResponse(
            model="lesion:1",
            profile=PROFILE,
            recorded=begin.purpose != common.PURPOSE_EXPLORE,
            name=head.name,
            answer=answer,
        )
        names = [wire.LesionMap.Name(number).removeprefix("LESION_MAP_").lower() for number in head.maps] or self.maps
        arrays = volumes(images["flair"]) if self.images else {}
        for name in () if self.withhold and not answer.HasField("count") else names:
            number = wire.LesionMap.Value(f"LESION_MAP_{name.upper()}")
            content = arrays[name] if arrays else canned(name, images["flair"], self.size)
            if self.inline:
                response.files.add(map=number, content=content)
                continue
            for start in range(0, len(content), PIECE_BYTES):
                piece = wire.LesionResultPiece(
                    sequence=sequence, map=number, content=content[start : start + PIECE_BYTES]
                )
                yield wire.LesionStreamResponse(piece=piece)
        yield wire.LesionStreamResponse(result=wire.LesionResult(sequence=sequence, answer=response))

    def answer(self, number: int, flair: bytes, begin: Any) -> wire.LesionAnswer:
        """Every other scan is too uncertain; a single model says less."""
        uncertainty = np.float32(0.2 + 0.2 * (number % 2))
        deferral = self.deferral(100 + number, uncertainty, common.SHIFT_KNOWLEDGE_ABOVE_REFERENCE, begin)
        answer = wire.LesionAnswer(deferral=deferral)
        answer.remarks.add(
            code="thick_slices", message="slices of 3 mm; resample or expect less", value=3, unit="mm", lower=1, upper=2
        )
        if self.withheld(deferral):
            return answer
        answer.brain_ml, answer.resampled = 1320.5, bool(number % 2)
        answer.count = 2
        answer.count_interval.MergeFrom(wire.Interval(level=0.9, lower=1, upper=4))
        answer.volume_mm3 = 1234.5
        answer.volume_interval.MergeFrom(wire.Interval(level=0.9, lower=800, upper=2000))
        answer.total = 0.02
        answer.look_at_voxels = 0.005
        ensemble = "rmi" in self.maps
        if ensemble:
            answer.data, answer.knowledge, answer.rmi, answer.structural = 0.015, 0.005, 0.004, float(uncertainty)
        for label, volume in ((1, 1200.0), (2, 34.5)):
            answer.lesions.add(
                volume_mm3=volume,
                centroid_mm=[-20.5, 4.0, 22.0 + label],
                mean_probability=0.8 / label,
                structural_uncertainty=0.1 * label if ensemble else None,
                look_at=label == 2,
                label=label,
            )
        return answer
