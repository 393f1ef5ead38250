"""Lower bounds of times on a device, from the work of a benchmark and two rates measured on the device.

Work is counted on paper for the released sizes: multiplications and additions of matrix products and convolutions, and
bytes that have to be read or written at least once. A floor is the longer of both, without any overhead. For an H200
there are also floors from published rates.
"""

import time
from dataclasses import dataclass
from typing import Any

from benchmarks.gpu.parts import Setting

SIDE, CPU_SIDE, QUICK_SIDE = 8192, 4096, 1024
"""Side of the square matrices whose product is timed."""
COPY_BYTES, CPU_COPY_BYTES, QUICK_COPY_BYTES = 4 << 30, 512 << 20, 256 << 20
"""Bytes copied to measure the memory rate: many times the largest cache; on a CPU a size that fits into memory."""
_TIMES = 5


@dataclass(frozen=True)
class Work:
    """Least work of a benchmark."""

    flop: float
    moved_bytes: float

    def floor_seconds(self, rates: dict[str, float]) -> float:
        """Return the least time at ``flop_per_second`` and ``bytes_per_second``, s."""
        return max(self.flop / rates["flop_per_second"], self.moved_bytes / rates["bytes_per_second"])


VESSEL_ROW = Work(flop=318e3, moved_bytes=112e3)
"""Work of a row through 100 variational predictors; activations of the unfused graph."""
SCAN = Work(flop=1.47e12, moved_bytes=25e9)
"""Work of a scan: five U-Nets of 32 to 512 channels over 27 windows of 96 voxels a side."""
MOTION = Work(flop=17e9, moved_bytes=0.1e9)
"""Work of a motion request: K = 5, Q = 10, 512 hidden units: the encoders, and 7500 steps of a recurrent cell."""
TRANSLATION_STEP_BYTES = {"fp32": 1.55e9, "fp16": 0.78e9, "int8": 0.39e9}
"""Bytes of the weights of three Transformer-Big that a decoding step reads."""

H200_ARCHITECTURE = "sm_90"
"""Compute capability of a whole H200 or H100; that of a MIG slice ends in its size."""
H200_RATES = (
    "67 TFLOP/s in float32, four fifths of the peaks of matrix products in TF32 (400 TFLOP/s) and fp16 (790 TFLOP/s), "
    "and 4.8 TB/s"
)
H200_SECONDS = {
    "rows": 5e-3 + 3.4e-3,
    "transformer": 4096 * 7e-6,
    "scan": 4e-3,
    "motion": 0.1e-3,
    "translation": 4.2e-3,
}
"""Least time of each part in full size on an H200 by ``H200_RATES``.

``rows``: 318 GFLOP in float32, and 7.1e9 softplus of two special functions each. ``transformer``: 2.7 GFLOP a row in
TF32. ``scan``: 1.47 TFLOP in TF32, 16 to 25 GB. ``motion``: 17 GFLOP in TF32, without the time between its steps.
``translation``: 26 steps, each of which reads 0.78 GB of weights in fp16.
"""


def rates(setting: Setting) -> dict[str, Any]:
    """Measure products of float32 matrices without TF32, and copies, by PyTorch."""
    import torch

    torch.backends.cuda.matmul.allow_tf32 = setting.device.tf32
    place = torch.device("cpu" if setting.device.provider == "cpu" else f"cuda:{setting.device.index}")
    side, size = (CPU_SIDE, CPU_COPY_BYTES) if setting.device.provider == "cpu" else (SIDE, COPY_BYTES)
    if setting.quick:
        side, size = QUICK_SIDE, QUICK_COPY_BYTES
    left, right = torch.randn(2, side, side, device=place)
    source = torch.empty(size // 4, dtype=torch.float32, device=place).normal_()
    target = torch.empty_like(source)
    product = _least(place, lambda: torch.mm(left, right))
    copied = _least(place, lambda: target.copy_(source))
    return {
        "flop_per_second": 2 * side**3 / product,
        "bytes_per_second": 2 * source.numel() * 4 / copied,
        "tf32": setting.device.tf32,
        "side": side,
        "copied_bytes": source.numel() * 4,
    }


def _least(place: Any, call: Any) -> float:
    """Return the shortest of several times, s."""
    import torch

    took = []
    for _ in range(_TIMES + 2):
        if place.type == "cuda":
            torch.cuda.synchronize(place)
        start = time.perf_counter()
        call()
        if place.type == "cuda":
            torch.cuda.synchronize(place)
        took.append(time.perf_counter() - start)
    return min(took[2:])
