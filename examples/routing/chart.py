"""Picture of a comparison: map, table and conditions along the routes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.patheffects as effects
import numpy as np
from matplotlib import pyplot
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.patches import FancyBboxPatch, Patch, Polygon
from numpy.typing import NDArray

from routing import panels
from routing.coast import POLYGONS, inside
from routing.fields import Weather
from routing.geodesy import Floats, bearing_deg, travel
from routing.oracle import PowerOracle, ask
from routing.panels import COLOURS, INK, QUIET, rim
from routing.sea import Corridor
from routing.search import Lattice
from routing.voyage import Voyage

WEST, EAST, SOUTH, NORTH = -77.0, 3.0, 33.0, 58.5
LAND, COAST, STORM, DEFERRED = "#e9e4d8", "#8d8574", "#8c1c13", "#3d2b56"
WAVES = LinearSegmentedColormap.from_list(
    "waves", ["#f7fafc", "#dbe9f3", "#b4d2e6", "#84b3d4", "#5c90bd", "#4a6fa5", "#5b5390"]
)
WIDTHS = (5.4, 2.2, 1.2)
"""Line widths of the routes on the map; where routes coincide, the first is visible as the rim of the second."""


def northing(lat: Any) -> Any:
    """Return the Mercator ordinate in degrees of longitude at the equator."""
    return np.degrees(np.arctanh(np.sin(np.radians(lat))))


@dataclass(frozen=True)
class Backdrop:
    """Weather of the ocean at the time when a ship on timetable passes each point. Arrays [rows, columns]."""

    lat: Floats
    lon: Floats
    hours: Floats
    weather: Weather
    deferred: NDArray[np.bool_]
    sea: NDArray[np.bool_]
    speed_kn: float
    row_count: int
    """Number of rows sent to the service for the backdrop."""

    @classmethod
    def ask(
        cls,
        lattice: Lattice,
        oracle: PowerOracle,
        duration_h: float,
        speed_kn: float,
        step_deg: float = 0.5,
    ) -> Backdrop:
        lat, lon = np.meshgrid(
            np.arange(SOUTH, NORTH + step_deg, step_deg),
            np.arange(WEST, EAST + step_deg, step_deg),
            indexing="ij",
        )
        corridor = lattice.corridor
        share = np.clip(corridor.progress(lat, lon), 0.0, 1.0)
        hours = share * duration_h
        weather = lattice.ocean.sample(lat, lon, hours)
        flat = Weather(
            *(
                np.ravel(getattr(weather, name))
                for name in ("wind_east_kn", "wind_north_kn", "wave_m", "current_east_kn", "current_north_kn")
            )
        )
        speed = np.full(lat.size, speed_kn)
        rows = lattice.ship.features(speed, _axis_course(corridor, share.ravel()), flat, hours.ravel())
        power = ask(oracle, rows)
        land = np.zeros(lat.shape, bool)
        for polygon in POLYGONS.values():
            land |= inside(polygon, lat, lon)
        return cls(lat, lon, hours, weather, power.deferred.reshape(lat.shape), ~land, speed_kn, len(rows))


def _axis_course(corridor: Corridor, share: Floats) -> Floats:
    """Return the course of the great circle at a share of its length."""
    start, end = corridor.departure, corridor.destination
    course = bearing_deg(start.lat, start.lon, end.lat, end.lon)
    lat, lon = travel(start.lat, start.lon, course, np.clip(share, 0.0, 0.999) * corridor.length_nm)
    return bearing_deg(lat, lon, end.lat, end.lon)


def draw(
    path: Path,
    voyages: Mapping[str, Voyage],
    lattice: Lattice,
    backdrop: Backdrop,
    title: str,
    subtitle: str,
    footer: str,
) -> None:
    """Write the comparison of voyages as a PNG."""
    style = {
        "font.family": "DejaVu Sans",
        "font.size": 9.5,
        "text.color": INK,
        "axes.edgecolor": "#a9b0b7",
        "axes.labelcolor": QUIET,
        "xtick.color": QUIET,
        "ytick.color": QUIET,
        "axes.titlesize": 10.5,
        "axes.titleweight": "bold",
        "axes.titlelocation": "left",
        "hatch.linewidth": 0.7,
    }
    with pyplot.rc_context(style):
        figure = pyplot.figure(figsize=(17, 11.4), dpi=130, facecolor="white")
        grid = figure.add_gridspec(
            2, 1, height_ratios=(1.95, 1.0), left=0.045, right=0.985, top=0.888, bottom=0.085, hspace=0.2
        )
        upper = grid[0].subgridspec(1, 2, width_ratios=(3.05, 1.0), wspace=0.05)
        lower = grid[1].subgridspec(1, 3, wspace=0.17)
        figure.text(0.045, 0.962, title, fontsize=18, fontweight="bold")
        figure.text(0.045, 0.934, subtitle, fontsize=11, color=QUIET)
        figure.text(0.045, 0.02, footer, fontsize=8.2, color=QUIET, linespacing=1.45)
        _map(figure.add_subplot(upper[0]), voyages, lattice, backdrop)
        side = upper[1].subgridspec(2, 1, height_ratios=(3.1, 1.0), hspace=0.14)
        panels.table(figure.add_subplot(side[0]), voyages)
        panels.fuel(figure.add_subplot(side[1]), voyages)
        panels.power(figure.add_subplot(lower[0]), voyages)
        panels.uncertainty(figure.add_subplot(lower[1]), voyages)
        panels.met(figure.add_subplot(lower[2]), voyages)
        figure.savefig(path)
        pyplot.close(figure)


def _map(axes: Any, voyages: Mapping[str, Voyage], lattice: Lattice, backdrop: Backdrop) -> None:
    y = northing(backdrop.lat)
    shade = axes.contourf(
        backdrop.lon,
        y,
        backdrop.weather.wave_m,
        levels=np.arange(0.0, 9.01, 0.5),
        cmap=WAVES,
        extend="max",
        zorder=0,
    )
    axes.contourf(
        backdrop.lon,
        y,
        (backdrop.deferred & backdrop.sea).astype(float),
        levels=[0.5, 1.5],
        colors="none",
        hatches=["////"],
        zorder=1,
    ).set_edgecolor(DEFERRED)
    if (backdrop.deferred & backdrop.sea).any():
        axes.contour(
            backdrop.lon,
            y,
            (backdrop.deferred & backdrop.sea).astype(float),
            levels=[0.5],
            colors=DEFERRED,
            linewidths=0.9,
            zorder=1,
        )
    every = 5
    thin = (slice(2, None, every - 1), slice(2, None, every + 1))
    east, north = backdrop.weather.wind_east_kn[thin], backdrop.weather.wind_north_kn[thin]
    axes.barbs(
        backdrop.lon[thin], y[thin], east, north,
        length=4.6, linewidth=0.55, color="#4b5a68", alpha=0.75, zorder=2, sizes={"emptybarb": 0.08},
    )  # fmt: skip
    for polygon in POLYGONS.values():
        outline = np.array(polygon)
        outline[:, 1] = northing(outline[:, 1])
        axes.add_patch(Polygon(outline, facecolor=LAND, edgecolor=COAST, linewidth=0.7, zorder=3))
    _lows(axes, lattice, float(backdrop.hours.max()))
    for voyage, colour, width in zip(voyages.values(), COLOURS, WIDTHS, strict=False):
        _route(axes, voyage, colour, width)
    corridor = lattice.corridor
    for place, (dx, dy), align in (
        (corridor.departure, (0.4, 1.0), "left"),
        (corridor.destination, (0.9, -1.7), "left"),
    ):
        axes.plot(place.lon, northing(place.lat), "o", ms=7, mfc="white", mec=INK, mew=1.6, zorder=9)
        axes.text(
            place.lon + dx, northing(place.lat) + dy, place.name, fontsize=9.5, fontweight="bold", ha=align,
            zorder=10, path_effects=rim(3),
        )  # fmt: skip
    # Mercator preserves shapes only at equal scales: the height determines the eastern limit.
    box = axes.get_window_extent()
    axes.set_ylim(northing(SOUTH), northing(NORTH))
    axes.set_xlim(WEST, WEST + (northing(NORTH) - northing(SOUTH)) * box.width / box.height)
    axes.set_xticks(np.arange(-70, 1, 10), [f"{-lon}°W" if lon else "0°" for lon in range(-70, 1, 10)])
    axes.set_yticks(northing(np.arange(35, 59, 5)), [f"{lat}°N" for lat in range(35, 59, 5)])
    axes.grid(color="white", linewidth=0.6, alpha=0.6, zorder=1)
    axes.tick_params(length=0)
    axes.add_patch(
        FancyBboxPatch(
            (0.728, 0.028), 0.258, 0.115, transform=axes.transAxes, boxstyle="round,pad=0.004",
            facecolor="white", edgecolor="none", alpha=0.93, zorder=11,
        )
    )  # fmt: skip
    bar = axes.inset_axes((0.735, 0.075, 0.245, 0.022), zorder=12)
    axes.figure.colorbar(shade, cax=bar, orientation="horizontal", ticks=[0, 2, 4, 6, 8])
    bar.tick_params(labelsize=8, length=2, colors=INK)
    bar.set_title("significant wave height, m", fontsize=8.5, fontweight="normal", color=INK, pad=3)
    bar.set_zorder(12)
    hours = max(voyage.duration_h for voyage in voyages.values())
    handles: list[Any] = [
        axes.plot([], [], color=colour, linewidth=3, label=name)[0]
        for name, colour in zip(voyages, COLOURS, strict=False)
    ]
    handles.append(axes.plot([], [], "o", ms=5, mfc="white", mec=INK, linestyle="none", label="position every 12 h")[0])
    handles.append(
        Patch(
            facecolor="none",
            edgecolor=DEFERRED,
            hatch="////",
            label=f"service defers at {backdrop.speed_kn:.1f} kn",
        )
    )
    axes.legend(
        handles=handles, loc="lower left", fontsize=9, framealpha=0.93, edgecolor="none", borderpad=0.8
    ).set_zorder(12)
    axes.set_title(
        f"Waves and wind as met: each place at the hour a ship on timetable passes it (0 to {hours:.0f} h)",
        pad=7,
    )


def _lows(axes: Any, lattice: Lattice, duration_h: float) -> None:
    """Draw the track of each low, and its position when the ship passes its longitude."""
    hours = np.linspace(0.0, duration_h, 400)
    for low in lattice.ocean.lows:
        lat, lon = low.centre(hours)
        gap = np.abs(np.clip(lattice.corridor.progress(lat, lon), 0, 1) * duration_h - hours)
        at = int(np.argmin(gap))
        if gap[at] > 3.0 or low.peak_kn * low.strength(hours[at]) < 12.0:
            continue
        window = np.abs(hours - hours[at]) <= 36.0
        shown = window & (lon > WEST + 1) & (lon < EAST - 1) & (lat < NORTH - 0.5) & (lat > SOUTH + 0.5)
        if not shown[at]:
            continue
        axes.plot(lon[shown], northing(lat[shown]), color=STORM, linewidth=1.1, linestyle=(0, (4, 2)), zorder=4)
        axes.annotate(
            "", (lon[shown][-1], northing(lat[shown][-1])), (lon[shown][-2], northing(lat[shown][-2])),
            arrowprops={"arrowstyle": "-|>", "color": STORM, "lw": 1.1}, zorder=4,
        )  # fmt: skip
        axes.text(
            lon[at], northing(lat[at]), "L", color=STORM, fontsize=17, fontweight="bold", ha="center", va="center",
            zorder=5, path_effects=rim(3),
        )  # fmt: skip
        axes.text(
            lon[at] + 0.9, northing(lat[at]) - 1.3, f"{low.peak_kn * low.strength(hours[at]):.0f} kn", color=STORM,
            fontsize=8.5, zorder=5, path_effects=rim(2.5),
        )  # fmt: skip


def _route(axes: Any, voyage: Voyage, colour: str, width: float) -> None:
    lat, lon, hours = voyage.track.waypoints
    axes.plot(
        lon, northing(lat), color=colour, linewidth=width, zorder=6, solid_joinstyle="round",
        path_effects=[effects.Stroke(linewidth=width + 1.6, foreground="white"), effects.Normal()],
    )  # fmt: skip
    marks = np.arange(12.0, hours[-1], 12.0)
    axes.plot(
        np.interp(marks, hours, lon), northing(np.interp(marks, hours, lat)), "o", ms=4.2, mfc="white", mec=colour,
        mew=1.3, zorder=7, linestyle="none",
    )  # fmt: skip
    track, deferred = voyage.track, voyage.power.deferred
    axes.plot(
        track.lon[deferred], northing(track.lat[deferred]), "x", ms=6.5, mew=2.0, color="#f7b801", zorder=8,
        path_effects=rim(3.4, INK),
    )  # fmt: skip
