"""Simulated traffic city by city: the figure and numbers of the simulator's data sheet.

    demur data motion simulate --no-rendered --out data/motion
    python -m studies.motion_simulated data/motion [--real data/argoverse] [--out docs/datasheets]

``--real`` is a folder of recordings in the official layout (``demur data motion convert``); only sums are shown.
"""

import math
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from numpy.typing import NDArray

from benchmarks import machine
from models.tasks.motion.data import folders, messages
from models.tasks.motion.data.futures import futures
from models.tasks.motion.inference.grid import driving_yaw
from models.tasks.motion.protocol import motion_pb2
from studies import pages

COLOURS = {
    "Moscow": "#1b7837",
    "Skolkovo": "#4393c3",
    "Innopolis": "#2166ac",
    "Modiin": "#8073ac",
    "AnnArbor": "#e08214",
    "TelAviv": "#d6604d",
    "real": "black",
}
STEP = 0.2
REACH = 75.0
"""Half the edge of a pictured square, m."""


@dataclass
class CityCounts:
    """Counts of one city."""

    scenes: int = 0
    vehicles: list[int] = field(default_factory=list)
    people: list[int] = field(default_factory=list)
    requests: list[int] = field(default_factory=list)
    valid: int = 0
    tags: Counter[str] = field(default_factory=Counter)
    speed: list[float] = field(default_factory=list)
    """Present speed of moving vehicles, m/s; the following fields are of moving vehicles, too."""
    ade: list[float] = field(default_factory=list)
    """ADE of constant velocity, m."""
    fde: list[float] = field(default_factory=list)
    gain: list[float] = field(default_factory=list)
    """Change of speed from the first to the last second, over the time between, m/s²."""
    turned: list[float] = field(default_factory=list)
    """Change of the direction of driving, degrees."""


def main(arguments: list[str] | None = None) -> int:
    parser = pages.parser("motion_simulated", __doc__, out=pages.DATASHEETS)
    parser.add_argument("data", type=Path, help="folder of simulated scenes")
    parser.add_argument("--real", type=Path, help="folder of recorded scenes")
    parser.add_argument("--most", type=int, default=150, help="scenes of each city that are read")
    parser.add_argument("--picture", type=int, default=1, help="which scene of each city is pictured")
    options = parser.parse_args(arguments)
    counts: dict[str, CityCounts] = defaultdict(CityCounts)
    pictured: dict[str, motion_pb2.Scene] = {}
    for city, file, scene in _scenes(options.data):
        if counts[city].scenes == options.picture:
            pictured[city] = scene
        if counts[city].scenes < options.most:
            count(counts[city], file, scene)
    if options.real:
        for _, file, scene in _scenes(options.real):
            count(counts["real"], file, scene)
    for city, city_counts in counts.items():
        sys.stdout.write(f"{city}: {told(city_counts)}\n")
    path = options.out / "motion-simulator.png"
    figure(counts, pictured).savefig(path, dpi=75)
    sys.stdout.write(f"{path}\n{machine.line()}\n")
    return 0


def count(counts: CityCounts, file: Path, scene: motion_pb2.Scene) -> None:
    """Add a scene to the counts of its city."""
    counts.scenes += 1
    counts.vehicles.append(len(scene.past_vehicle_tracks[-1].tracks))
    if scene.past_pedestrian_tracks:
        counts.people.append(len(scene.past_pedestrian_tracks[-1].tracks))
    counts.requests.append(len(scene.prediction_requests))
    now = {track.track_id: track for track in scene.past_vehicle_tracks[-1].tracks}
    for future in futures(file, scene):
        if future.trajectory is None:
            continue
        counts.valid += 1
        tags = {motion_pb2.TrajectoryTag.Name(tag).removeprefix("k") for tag in future.maneuvers}
        counts.tags.update(tags)
        if "Stationary" not in tags:
            _count_moving(counts, now[future.key[1]], future.trajectory)


def _count_moving(counts: CityCounts, track: motion_pb2.VehicleTrack, truth: NDArray[np.floating[Any]]) -> None:
    velocity = np.array([track.linear_velocity.x, track.linear_velocity.y])
    yaw = driving_yaw(track.yaw, *velocity)
    own = np.array([[math.cos(yaw), math.sin(yaw)], [-math.sin(yaw), math.cos(yaw)]]) @ velocity
    away = np.hypot(*(truth - np.arange(1, len(truth) + 1)[:, None] * STEP * own).T)
    steps = np.diff(truth, axis=0, prepend=[[0.0, 0.0]])
    pace = np.hypot(*steps.T) / STEP
    counts.speed.append(float(np.hypot(*velocity)))
    counts.ade.append(float(away.mean()))
    counts.fde.append(float(away[-1]))
    counts.gain.append(float((pace[-5:].mean() - pace[:5].mean()) / 4.0))
    long = np.hypot(*(truth[-1] - truth[-6])) > 1
    counts.turned.append(math.degrees(math.atan2(*(truth[-1] - truth[-6])[::-1])) if long else 0.0)


def told(counts: CityCounts) -> str:
    """Return the numbers of a city as a line of text."""
    share = {name: round(count / counts.valid, 3) for name, count in sorted(counts.tags.items())}
    gain = np.percentile(counts.gain, [5, 95])
    fde = np.percentile(counts.fde, [50, 90])
    return (
        f"{counts.scenes} scenes, {np.mean(counts.vehicles):.1f} vehicles, {np.mean(counts.people or [0]):.1f} people, "
        f"{np.mean(counts.requests):.1f} requests, {counts.valid / counts.scenes:.2f} valid; of the moving: speed "
        f"{np.mean(counts.speed):.1f} m/s, ADE {np.mean(counts.ade):.2f} m, FDE {np.mean(counts.fde):.2f} m "
        f"(median {fde[0]:.1f}, 90 % {fde[1]:.1f}), change of speed {np.std(counts.gain):.2f} m/s² "
        f"({gain[0]:.1f} to {gain[1]:.1f}), turned by more than 30° {np.mean(np.abs(counts.turned) > 30):.2f}; "
        f"tags {share}"
    )


def figure(counts: dict[str, CityCounts], pictured: dict[str, motion_pb2.Scene]) -> Figure:
    """Draw one scene per city from above, and distributions."""
    drawn = Figure(figsize=(18, 16.4), layout=ConstrainedLayoutEngine(h_pad=0.1, w_pad=0.1))
    grid = drawn.add_gridspec(3, 12, height_ratios=[1, 1, 0.55])
    for place, city in enumerate(city for city in COLOURS if city in pictured):
        axes = drawn.add_subplot(grid[place // 3, 4 * (place % 3) : 4 * (place % 3) + 4])
        _above(axes, pictured[city])
        axes.set_title(city, color=COLOURS[city])
    charts: Sequence[tuple[str, str, NDArray[np.float64]]] = (
        ("speed", "speed now, m/s", np.linspace(0, 22, 23)),
        ("fde", "final error of constant velocity, m", np.linspace(0, 36, 19)),
        ("gain", "mean change of speed over 5 s, m/s²", np.linspace(-3, 3, 25)),
        ("turned", "direction after 5 s, degrees", np.linspace(-110, 110, 23)),
    )
    for place, (name, label, edges) in enumerate(charts):
        axes = drawn.add_subplot(grid[2, 3 * place : 3 * place + 3])
        for city, city_counts in sorted(counts.items(), key=lambda each: tuple(COLOURS).index(each[0])):
            values = np.clip(getattr(city_counts, name), edges[0], edges[-1])
            shares = np.histogram(values, edges)[0] / len(values)
            wide = 2.2 if city == "real" else 1.4
            axes.stairs(shares, edges, label=city, color=COLOURS[city], linewidth=wide)
        axes.set_xlabel(label)
        axes.set_yscale("log" if name == "turned" else "linear")
        if not place:
            axes.set_ylabel("share of vehicles that move")
            axes.legend(fontsize="small")
    return drawn


def _above(axes: Axes, scene: motion_pb2.Scene) -> None:
    graph = scene.path_graph
    for polygon in graph.road_polygons:
        axes.fill(*_points(polygon.geometry.points).T, color="0.9")
    for crosswalk in graph.crosswalks:
        axes.fill(*_points(crosswalk.geometry.points).T, color="gold", alpha=0.35, linewidth=0)
    lit = {section.id: section.state for section in scene.traffic_lights[-1].sections} if scene.traffic_lights else {}
    lights = {1: "#4daf4a", 2: "#4daf4a", 3: "orange", 4: "#e41a1c", 5: "orange"}
    for lane in graph.lanes:
        colour = lights.get(lit.get(lane.traffic_light_section_ids.main_section_id, 0), "0.72")
        axes.plot(*_points(lane.centers).T, color=colour, linewidth=0.6)
    requested = {request.track_id for request in scene.prediction_requests}
    for track, line in _lines(scene.past_vehicle_tracks, scene.future_vehicle_tracks):
        past, future = line[:25], line[24:]
        if np.isfinite(past[-1, 0]):
            colour = "#08306b" if track in requested else "0.45"
            axes.plot(*past.T, color=colour, linewidth=1.8)
            axes.plot(*future.T, color="#d7301f", linewidth=1.4)
    for _, line in _lines(scene.past_pedestrian_tracks, scene.future_pedestrian_tracks):
        axes.plot(*line.T, color="#c51b8a", linewidth=0.8)
    for track in scene.past_vehicle_tracks[-1].tracks:
        _box(axes, track, "#08306b" if track.track_id in requested else "0.45")
    ego = scene.past_ego_track[-1]
    _box(axes, ego, "#238b45")
    axes.set_xlim(ego.position.x - REACH, ego.position.x + REACH)
    axes.set_ylim(ego.position.y - REACH, ego.position.y + REACH)
    axes.set_aspect("equal")
    axes.set_xticks([])
    axes.set_yticks([])


def _box(axes: Axes, track: motion_pb2.VehicleTrack, colour: str) -> None:
    cos, sin = math.cos(track.yaw), math.sin(track.yaw)
    corners = np.array([(1, 1), (1, -1), (-1, -1), (-1, 1)]) * [track.dimensions.x / 2, track.dimensions.y / 2]
    turned = corners @ np.array([[cos, sin], [-sin, cos]])
    axes.fill(*(turned + np.array([track.position.x, track.position.y])).T, color=colour, alpha=0.8, linewidth=0)


def _lines(past: Sequence[Any], future: Sequence[Any]) -> Iterator[tuple[int, NDArray[np.float64]]]:
    """Yield each track's positions in all steps, NaN if it is not seen, [steps, 2]."""
    lines: dict[int, NDArray[np.float64]] = {}
    steps = [*past, *future]
    for number, step in enumerate(steps):
        for track in step.tracks:
            line = lines.setdefault(track.track_id, np.full((len(steps), 2), np.nan))
            line[number] = track.position.x, track.position.y
    yield from lines.items()


def _points(points: Sequence[motion_pb2.Vector3]) -> NDArray[np.float64]:
    return np.array([(point.x, point.y) for point in points]).reshape(-1, 2)


def _scenes(root: Path) -> Iterator[tuple[str, Path, motion_pb2.Scene]]:
    for split in folders.splits(root):
        for file in folders.scene_files(split):
            scene = messages.scene(file)
            yield motion_pb2.Location.Name(scene.scene_tags.track), file, scene


if __name__ == "__main__":
    sys.exit(main())
