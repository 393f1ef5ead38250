"""Grid of feature maps: square, the agent in the middle, x forward."""

from dataclasses import dataclass

CHANNELS = 17
"""Number of channels of a feature map, in the released order; ``render`` has their names."""
USUAL_LIMIT = 15.0
"""Divisor of speed limits in a feature map, m/s."""


@dataclass(frozen=True, slots=True)
class Grid:
    """Cells of a feature map.

    Raises:
        ValueError: the number of cells is not even or not in 2 to 1024, or the resolution is outside 0.05 to 10 m.
    """

    size: int = 128
    """Cells per side; rows are y and columns x, as in OpenCV."""
    resolution: float = 1.0
    """Edge of a cell, m."""

    def __post_init__(self) -> None:
        if not 2 <= self.size <= 1024 or self.size % 2:
            raise ValueError(f"a map has {self.size} cells a side; an even number from 2 to 1024 is needed")
        if not 0.05 <= self.resolution <= 10:
            raise ValueError(f"a cell has an edge of {self.resolution} m; 0.05 to 10 m are possible")

    @property
    def shape(self) -> tuple[int, int, int]:
        """Shape of a feature map, [channels, y, x]."""
        return CHANNELS, self.size, self.size


OFFICIAL = Grid()
"""Grid of the data set's prerendered maps and of the released baselines."""
