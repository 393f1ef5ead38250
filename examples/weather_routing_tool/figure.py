"""Picture of the example: waves, deferred points, and the two routes."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.patheffects as effects
import numpy as np
from matplotlib import pyplot
from matplotlib.patches import Patch
from numpy.typing import NDArray

from routing.chart import DEFERRED, WAVES, northing
from routing.geodesy import Floats
from routing.panels import COLOURS, INK, QUIET, rim
from weather_routing_tool.grid import Grid, Route


def draw(
    path: Path,
    grid: Grid,
    waves_m: Floats,
    deferred: NDArray[np.bool_],
    routes: Mapping[str, Route],
    ports: Mapping[str, tuple[float, float]],
    title: str,
) -> None:
    """Write the picture as a PNG.

    Args:
        waves_m: significant wave height at each point when the ship is there [rows, columns].
        deferred: mask of the points at which the service defers, on the course of the great circle.
    """
    with pyplot.rc_context({"font.family": "DejaVu Sans", "font.size": 10, "text.color": INK, "hatch.linewidth": 0.8}):
        figure, axes = pyplot.subplots(figsize=(11.5, 6.4), dpi=120, layout="constrained")
        y = northing(grid.lat)
        shade = axes.contourf(grid.lon, y, waves_m, levels=np.arange(0.0, 9.1, 0.5), cmap=WAVES, extend="max")
        hatched: Any = axes.contourf(
            grid.lon, y, deferred.astype(float), levels=[0.5, 1.5], colors="none", hatches=["////"]
        )
        hatched.set_edgecolor(DEFERRED)
        handles: list[Any] = []
        for (name, route), colour in zip(routes.items(), COLOURS, strict=False):
            (line,) = axes.plot(
                route.lon, northing(route.lat), color=colour, linewidth=3, label=name, solid_joinstyle="round",
                path_effects=[effects.Stroke(linewidth=4.6, foreground="white"), effects.Normal()],
            )  # fmt: skip
            handles.append(line)
        handles.append(Patch(facecolor="none", edgecolor=DEFERRED, hatch="////", label="service defers"))
        for name, (lat, lon) in ports.items():
            axes.plot(lon, northing(lat), "o", ms=8, mfc="white", mec=INK, mew=1.6)
            axes.annotate(
                name, (lon, northing(lat)), (0, 12), textcoords="offset points", ha="center", fontweight="bold",
                path_effects=rim(3),
            )  # fmt: skip
        axes.set_xlim(grid.lon[0], grid.lon[-1])
        axes.set_ylim(y[0], y[-1])
        axes.set_aspect("equal")
        axes.set_xticks(np.arange(-40, -19, 5), [f"{lon}°W" for lon in range(40, 19, -5)])
        axes.set_yticks(northing(np.arange(42, 51, 2)), [f"{lat}°N" for lat in range(42, 51, 2)])
        axes.tick_params(length=0, labelcolor=QUIET)
        axes.set_title(title, loc="left", fontsize=13, fontweight="bold", pad=10)
        axes.legend(handles=handles, loc="lower left", framealpha=0.95, edgecolor="none", borderpad=0.8)
        label = "significant wave height as met, m"
        figure.colorbar(shade, ax=axes, shrink=0.75, pad=0.015, label=label, ticks=range(0, 10, 2))
        figure.savefig(path)
        pyplot.close(figure)
