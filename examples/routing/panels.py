"""Panels beside and below the map: the table of totals, the fuel, and the conditions along the routes."""

from collections.abc import Callable, Mapping
from typing import Any

import matplotlib.patheffects as effects
import numpy as np

from routing.voyage import Voyage

COLOURS = ("#d1400f", "#0b2545", "#6a4c93")
"""Colours of the routes, in their order."""
INK, QUIET = "#22282e", "#69737c"


def rim(width: float, colour: str = "white") -> list[Any]:
    """Return an outline that keeps words and marks readable on any background."""
    return [effects.withStroke(linewidth=width, foreground=colour)]


def table(axes: Any, voyages: Mapping[str, Voyage]) -> None:
    axes.axis("off")
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    lines: list[tuple[str, Callable[[Voyage], float], str, str]] = [
        ("Distance, nm", lambda v: v.distance_nm, ",.0f", "normal"),
        ("Arrival after, h", lambda v: v.duration_h, ".2f", "normal"),
        (
            "Mean speed in water, kn",
            lambda v: float(np.average(v.stw_kn, weights=v.track.hours)),
            ".1f",
            "normal",
        ),
        ("", lambda v: 0.0, "", ""),
        ("Shaft energy, MWh", lambda v: v.energy_mwh, ",.0f", "bold"),
        ("   standard deviation", lambda v: v.energy_sd_mwh, ",.0f", "normal"),
        ("Fuel (HFO), t", lambda v: v.fuel_t, ",.1f", "bold"),
        ("   sd from knowledge", lambda v: v.fuel_sd_parts_t[0], ",.1f", "normal"),
        ("   sd from data noise", lambda v: v.fuel_sd_parts_t[1], ",.1f", "normal"),
        ("Bunker for 95 %, t", lambda v: v.bunker_t(), ",.1f", "bold"),
        ("CO₂, t", lambda v: v.co2_t, ",.0f", "bold"),
        ("", lambda v: 0.0, "", ""),
        ("Hours deferred", lambda v: v.deferred_h, ".1f", "bold"),
        ("Hours outside training", lambda v: v.shifted_h, ".1f", "normal"),
        ("Hours barred, expected", lambda v: v.barred_h, ".1f", "normal"),
        ("Highest waves, m", lambda v: float(v.weather.wave_m.max()), ".1f", "normal"),
        ("Strongest wind, kn", lambda v: float(v.weather.wind_kn.max()), ".0f", "normal"),
    ]
    compared = list(voyages.values())
    places = 1.0 - 0.185 * np.arange(len(compared), -1, -1)
    y = 0.97
    for place, name, colour in zip(places, (*voyages, "change"), (*COLOURS[: len(compared)], QUIET), strict=True):
        text = name.replace(" ", "\n").replace("-", "-\n")
        axes.text(
            place,
            y,
            text,
            ha="right",
            va="center",
            color=colour,
            fontweight="bold",
            fontsize=9.6,
            linespacing=1.1,
        )
    y -= 0.066
    axes.plot([0, 1], [y, y], color=INK, linewidth=1.0)
    for label, value, form, weight in lines:
        y -= 0.051 if label else 0.026
        if not label:
            axes.plot([0, 1], [y, y], color="#ccd2d8", linewidth=0.8)
            continue
        figures = [value(voyage) for voyage in compared]
        axes.text(0.0, y, label, va="center", fontsize=9.6, fontweight=weight)
        for place, figure in zip(places[:-1], figures, strict=True):
            axes.text(place, y, format(figure, form), ha="right", va="center", fontsize=9.8, fontweight=weight)
        change = format(figures[-1] - figures[0], "+" + form).replace("-", "−")
        axes.text(1.0, y, change, ha="right", va="center", fontsize=9.4, color=QUIET)


def fuel(axes: Any, voyages: Mapping[str, Voyage]) -> None:
    """Draw the probability density of the fuel, and the bunker that is enough in 95 of 100 voyages."""
    low = min(voyage.fuel_t - 3.2 * voyage.fuel_sd_t for voyage in voyages.values())
    high = max(voyage.fuel_t + 3.2 * voyage.fuel_sd_t for voyage in voyages.values())
    tonnes = np.linspace(low, high, 400)
    for voyage, colour in zip(voyages.values(), COLOURS, strict=False):
        sd = max(voyage.fuel_sd_t, 1e-6)
        density = np.exp(-0.5 * ((tonnes - voyage.fuel_t) / sd) ** 2) / sd
        axes.fill_between(tonnes, density, color=colour, alpha=0.14, linewidth=0)
        axes.plot(tonnes, density, color=colour, linewidth=1.6)
        bunker = voyage.bunker_t()
        axes.plot([bunker, bunker], [0, density.max()], color=colour, linewidth=1.2, linestyle=(0, (4, 2)))
    axes.set_ylim(0, None)
    axes.set_yticks([])
    axes.tick_params(length=0, labelsize=8.5)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.set_title("Fuel of the voyage, t; dashed: bunker for 95 %", fontsize=9.6, pad=4)


def power(axes: Any, voyages: Mapping[str, Voyage]) -> None:
    engine = next(iter(voyages.values())).engine
    for low, high in engine.barred_kw:
        axes.axhspan(low / 1000, high / 1000, facecolor="#f3d9d3", edgecolor="none", zorder=0)
        axes.text(
            0.995, (low + high) / 2000, "barred", transform=axes.get_yaxis_transform(), ha="right", va="center",
            fontsize=8.5, color="#8c1c13",
        )  # fmt: skip
    for voyage, colour in zip(voyages.values(), COLOURS, strict=False):
        mean, sd = voyage.power.mean / 1000, voyage.power.sd / 1000
        axes.fill_between(
            voyage.track.sailed_nm, mean - 1.96 * sd, mean + 1.96 * sd, color=colour, alpha=0.14, linewidth=0
        )
        axes.plot(voyage.track.sailed_nm, mean, color=colour, linewidth=1.6)
    _frame(axes, "Shaft power, MW: mean and 95 % band")


def uncertainty(axes: Any, voyages: Mapping[str, Voyage]) -> None:
    for voyage, colour in zip(voyages.values(), COLOURS, strict=False):
        x = voyage.track.sailed_nm
        axes.plot(x, voyage.power.sd, color=colour, linewidth=1.8)
        axes.plot(x, voyage.power.knowledge_sd, color=colour, linewidth=1.1, linestyle=(0, (2.5, 1.5)))
        deferred = voyage.power.deferred
        axes.plot(
            x[deferred], voyage.power.sd[deferred], "x", ms=5, mew=1.6, color="#f7b801", zorder=5,
            path_effects=rim(2.8, INK),
        )  # fmt: skip
    handles = [
        axes.plot([], [], color=INK, linewidth=1.8, label="total")[0],
        axes.plot([], [], color=INK, linewidth=1.1, linestyle=(0, (2.5, 1.5)), label="knowledge")[0],
        axes.plot([], [], "x", ms=5, mew=1.6, color="#f7b801", linestyle="none", label="deferred",
                  path_effects=rim(2.8, INK))[0],
    ]  # fmt: skip
    axes.legend(handles=handles, loc="upper right", fontsize=8.5, frameon=False, ncols=3, handlelength=1.8)
    axes.set_ylim(0, 1.25 * max(float(voyage.power.sd.max()) for voyage in voyages.values()))
    _frame(axes, "Uncertainty along the route: standard deviation, kW")


def met(axes: Any, voyages: Mapping[str, Voyage]) -> None:
    for voyage, colour in zip(voyages.values(), COLOURS, strict=False):
        axes.plot(voyage.track.sailed_nm, voyage.weather.wind_kn, color=colour, linewidth=1.6)
    axes.axhline(19.0, color=QUIET, linewidth=0.9, linestyle=(0, (4, 2)))
    axes.text(
        0.995,
        19.4,
        "training data: true wind below 19 kn",
        ha="right",
        fontsize=8.2,
        color=QUIET,
        va="bottom",
        transform=axes.get_yaxis_transform(),
    )
    other = axes.twinx()
    for voyage, colour in zip(voyages.values(), COLOURS, strict=False):
        other.plot(
            voyage.track.sailed_nm,
            voyage.weather.wave_m,
            color=colour,
            linewidth=1.1,
            linestyle=(0, (2.5, 1.5)),
        )
    top = max(float(voyage.weather.wind_kn.max()) for voyage in voyages.values())
    axes.set_ylim(0, max(top * 1.25, 25.0))
    other.set_ylim(0, max(top * 1.25, 25.0) / 4)
    other.tick_params(length=0, colors=QUIET)
    for side in ("top", "left", "right"):
        other.spines[side].set_visible(False)
    handles = [
        axes.plot([], [], color=INK, linewidth=1.6, label="true wind, kn (left)")[0],
        axes.plot([], [], color=INK, linewidth=1.1, linestyle=(0, (2.5, 1.5)), label="waves, m (right)")[0],
    ]
    axes.legend(handles=handles, loc="upper right", fontsize=8.5, frameon=False, ncols=2, handlelength=1.8)
    _frame(axes, "Wind and waves met")


def _frame(axes: Any, title: str) -> None:
    axes.set_title(title, pad=6)
    axes.set_xlabel("distance sailed, nm")
    axes.set_xlim(0, None)
    axes.margins(x=0.01)
    axes.grid(axis="y", color="#e6eaee", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(length=0)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
