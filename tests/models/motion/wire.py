"""The official files written byte by byte from their field numbers, without the classes under test."""

import struct
from collections.abc import Iterable, Sequence

Point = Sequence[float]
Mode = tuple[Sequence[Point], float]
"""Points and weight."""


def varint(value: int) -> bytes:
    """A number in base 128, least digits first."""
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def nested(number: int, content: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(content)) + content


def integer(number: int, value: int) -> bytes:
    return varint(number << 3) + varint(value) if value else b""


def double(number: int, value: float) -> bytes:
    return varint(number << 3 | 1) + struct.pack("<d", value) if value else b""


def single(number: int, value: float) -> bytes:
    return varint(number << 3 | 5) + struct.pack("<f", value) if value else b""


def vector(number: int, point: Point) -> bytes:
    return nested(number, b"".join(double(axis, value) for axis, value in enumerate(point, 1)))


def prediction(scene: str, track: int, modes: Iterable[Mode], uncertainty: float = 0.0, ood: bool = False) -> bytes:
    """One entry of a submission."""
    content = integer(1, track) + nested(2, scene.encode())
    for points, weight in modes:
        trajectory = b"".join(vector(1, point) for point in points)
        content += nested(3, nested(1, trajectory) + single(2, weight))
    return nested(1, content + single(4, uncertainty) + integer(5, ood))


def vehicle(number: int, track: int, position: Point, velocity: Point = (0, 0), yaw: float = 0.0) -> bytes:
    return nested(number, integer(1, track) + vector(2, position) + vector(4, velocity) + double(6, yaw))


def scene(
    name: str,
    now: Sequence[bytes],
    future: Sequence[Sequence[bytes]],
    requests: Sequence[int],
    tags: Sequence[tuple[int, int]] = (),
) -> bytes:
    """A scene of one past step (now) and some future ones, each a list of ``vehicle(1, ...)``."""
    return (
        nested(1, name.encode())
        + nested(2, b"".join(now))
        + b"".join(nested(5, b"".join(step)) for step in future)
        + b"".join(nested(6, integer(1, track)) for track in requests)
        + nested(9, b"".join(integer(number, value) for number, value in tags))
    )
