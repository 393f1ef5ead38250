"""Picture of a scan as PNG: slices with outlines and uncertainty (Shifts 2.0, Figure 10)."""

import io
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.assessment.components import Labels, components
from models.evaluation.files import need
from models.tasks.lesion.pictures.slices import PLANES, Array, Box, Mask, Plane, View, Voxel, bounds, crossing, upright

PAPER, INK, SOFT, FAINT = "#0d1014", "#f2f2ee", "#b4b8c0", "#5a616c"
PREDICTION, TRUTH, LOOK = "#ffa62b", "#5ec8f2", "#ffe45c"
"""Colours orange, blue and yellow: distinct with any colour blindness, and also distinguished by dashes and signs."""
COLOURS = "inferno"
"""Colour map of uncertainty: more is brighter, in greyscale too."""
_PURPOSE = "a figure"
_DPI = 150
_WIDTH, _LEFT, _RIGHT, _TOP, _BOTTOM = 10.5, 0.2, 1.05, 1.16, 0.6
_BESIDE, _BELOW = 0.06, 0.12
"""Spaces between panels, inches; the line above has the width and the margins, inches."""
_MOST_MARKS = 6
CLOSE_MM = 60.0
"""Edge of the close-up, mm."""


@dataclass(frozen=True)
class Mark:
    """Numbered lesion of the picture."""

    label: int
    centroid_mm: tuple[float, float, float]
    """Centroid x, y, z in the space of the affine, mm."""
    look_at: bool


@dataclass(frozen=True)
class Picture:
    """Content of a picture; volumes are [x, y, z] on one grid."""

    flair: Array
    affine: NDArray[np.float64]
    prediction: Mask
    uncertainty: Array
    """Uncertainty, nats, 0 outside the brain."""
    measure: str
    """Name of the uncertainty measure."""
    title: str
    details: str
    """Line below the title."""
    truth: Mask | None = None
    marks: tuple[Mark, ...] = ()


@dataclass(frozen=True)
class Scene:
    """Picture turned upright, with the values that its panels share."""

    picture: Picture
    view: View
    point: Voxel
    labels: Labels
    """Components of the prediction."""
    numbers: dict[int, Mark]
    """Mark by component."""
    whole: Box
    close: Box
    grey: tuple[float, float]
    """Intensities drawn as black and as white."""
    most: float
    """Uncertainty of the brightest colour, nats."""


def draw(picture: Picture) -> bytes:
    """Return a PNG of three planes through the lesion that holds most uncertainty, in true proportion.

    Rows are the slices with outlines, the same with uncertainty, and close-ups. The view is that of radiologists: the
    patient's left is on the right. Slices of oblique images follow the voxels and have the name of the nearest plane.

    Raises:
        BadFile: matplotlib or nibabel is not installed.
        ValueError: volumes differ in shape, or the affine has no directions.
    """
    figures, agg = need("matplotlib.figure", _PURPOSE), need("matplotlib.backends.backend_agg", _PURPOSE)
    scene = arranged(picture)
    sizes = [(right - left, top - bottom) for left, right, bottom, top in (_ends(scene, plane) for plane in PLANES)]
    inches = (_WIDTH - _LEFT - _RIGHT - 2 * _BESIDE) / sum(width for width, _ in sizes)  # inches per millimetre
    tall = max(height for _, height in sizes) * inches
    edge = (_WIDTH - _LEFT - _RIGHT - 2 * _BESIDE) / 3
    height = _TOP + 2 * tall + edge + 2 * _BELOW + _BOTTOM
    figure = figures.Figure((_WIDTH, height), dpi=_DPI, facecolor=PAPER)
    agg.FigureCanvasAgg(figure)

    def axes(left: float, top: float, width: float, tall: float) -> Any:
        place = (left / _WIDTH, 1 - (top + tall) / height, width / _WIDTH, tall / height)
        return figure.add_axes(place, facecolor="black")

    left = _LEFT
    below = _TOP + 2 * (tall + _BELOW)
    for column, (plane, (width, _)) in enumerate(zip(PLANES, sizes, strict=True)):
        upper = axes(left, _TOP, width * inches, tall)
        _slice(upper, scene, plane, _ends(scene, plane), tall / inches)
        _outlines(upper, scene, plane)
        _frame(upper, scene, plane)
        _numbers(upper, scene, plane)
        lower = axes(left, _TOP + tall + _BELOW, width * inches, tall)
        _slice(lower, scene, plane, _ends(scene, plane), tall / inches, dim=0.6)
        shown = _uncertainty(lower, scene, plane)
        detail = axes(_LEFT + column * (edge + _BESIDE), below, edge, edge)
        _slice(detail, scene, plane, scene.view.window(plane, scene.close), CLOSE_MM, smooth=False)
        _outlines(detail, scene, plane, width=1.6)
        if column == 0:
            _ruler(detail, scene, plane)
        left += width * inches + _BESIDE
        if column == 2:
            bar = axes(left + 0.08, _TOP + tall + _BELOW + 0.1 * tall, 0.14, 0.8 * tall)
            _bar(figure, bar, shown, scene)
    _words(figure, scene, height)
    buffer = io.BytesIO()
    figure.canvas.print_png(buffer, metadata={"Software": None})
    return buffer.getvalue()


def arranged(picture: Picture) -> Scene:
    """Turn a picture upright and choose its slices, windows and scales.

    Raises:
        BadFile: nibabel is not installed.
        ValueError: volumes differ in shape, or the affine has no directions.
    """
    volumes = {"flair": picture.flair, "prediction": picture.prediction, "uncertainty": picture.uncertainty}
    if picture.truth is not None:
        volumes["truth"] = picture.truth
    view = upright(volumes, picture.affine)
    flair, mask, uncertainty = (view.volumes[name] for name in volumes if name != "truth")
    point = crossing(mask, uncertainty, view.volumes.get("truth"))
    brain = flair != 0
    bright = flair[brain & np.isfinite(flair)]
    low, high = np.percentile(bright, (0.5, 99.8)) if len(bright) else (0.0, 1.0)
    positive = uncertainty[uncertainty > 0]
    labels = components(mask)
    middle, half = np.array(point), CLOSE_MM / 2 / view.spacing
    first, last = middle + 0.5 - half, middle + 0.5 + half
    return Scene(
        picture=picture,
        view=view,
        point=point,
        labels=labels,
        numbers=_marked(view, labels, picture.marks),
        whole=bounds(brain, 6 / view.spacing),
        close=tuple(zip(first, last, strict=True)),  # type: ignore[arg-type]
        grey=(float(low), float(max(high, low + 1e-6))),
        most=float(np.percentile(positive, 99.9)) if len(positive) else 1.0,
    )


def _marked(view: View, labels: Labels, marks: tuple[Mark, ...]) -> dict[int, Mark]:
    """Return the mark of each component: the one with the nearest centroid, within a centimetre."""
    count = int(labels.max())
    if not count or not marks:
        return {}
    x, y, z = np.nonzero(labels)
    of = labels[x, y, z]
    sizes = np.bincount(of)[1:]
    middles = np.stack([np.bincount(of, axis)[1:] / sizes for axis in (x, y, z)], axis=1)
    centroids = np.stack([view.voxel(mark.centroid_mm) for mark in marks])
    apart = np.linalg.norm((middles[:, None] - centroids[None]) * view.spacing, axis=2)
    near = apart.argmin(axis=1)
    return {number + 1: marks[near[number]] for number in range(count) if apart[number, near[number]] <= 10}


def _ends(scene: Scene, plane: Plane) -> tuple[float, float, float, float]:
    return scene.view.window(plane, scene.whole)


def _slice(
    axes: Any,
    scene: Scene,
    plane: Plane,
    window: tuple[float, float, float, float],
    tall: float,
    *,
    dim: float = 1.0,
    smooth: bool = True,
) -> None:
    """Draw the FLAIR image in the middle of a panel ``tall`` mm high; ``dim`` below 1 darkens it under colours."""
    low, high = scene.grey
    values = np.nan_to_num(scene.view.section("flair", plane, scene.point[plane.cut]).astype(np.float32))
    width, height = scene.view.extent(plane)
    axes.imshow(
        values,
        cmap="gray",
        vmin=low,
        vmax=low + (high - low) / dim,
        extent=(0, width, 0, height),
        origin="lower",
        interpolation="bilinear" if smooth else "nearest",
    )
    left, right, bottom, top = window
    axes.set_xlim(left, right)
    axes.set_ylim((bottom + top - tall) / 2, (bottom + top + tall) / 2)
    axes.set_autoscale_on(False)
    axes.set_aspect("equal")
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_visible(False)


def _outlines(axes: Any, scene: Scene, plane: Plane, width: float = 1.1) -> None:
    effects = need("matplotlib.patheffects", _PURPOSE)
    view = scene.view
    for name, colour, dashes in (("truth", TRUTH, (0, (3, 1.2))), ("prediction", PREDICTION, "solid")):
        if name not in view.volumes:
            continue
        marked = np.pad(view.section(name, plane, scene.point[plane.cut]).astype(np.float32), 1)
        if not marked.any():
            continue
        up, across = view.spacing[plane.up], view.spacing[plane.across]
        x, y = np.arange(-0.5, marked.shape[1] - 1) * across, np.arange(-0.5, marked.shape[0] - 1) * up
        drawn = axes.contour(x, y, marked, levels=[0.5], colors=[colour], linewidths=width, linestyles=[dashes])
        drawn.set_path_effects([effects.withStroke(linewidth=width + 1.2, foreground="black", alpha=0.55)])


def _uncertainty(axes: Any, scene: Scene, plane: Plane) -> Any:
    """Draw colours over the image, more opaque where more uncertain; return the image for the colour bar."""
    values = scene.view.section("uncertainty", plane, scene.point[plane.cut]).astype(np.float32)
    values = np.nan_to_num(values)
    width, height = scene.view.extent(plane)
    return axes.imshow(
        values,
        cmap=COLOURS,
        vmin=0,
        vmax=scene.most,
        alpha=np.clip(values / scene.most * 3, 0, 0.92),
        extent=(0, width, 0, height),
        origin="lower",
        interpolation="nearest",
    )


def _ruler(axes: Any, scene: Scene, plane: Plane) -> None:
    """Draw a ruler of one centimetre."""
    left, _, low, _ = scene.view.window(plane, scene.close)
    effects = need("matplotlib.patheffects", _PURPOSE)
    halo = [effects.withStroke(linewidth=3.5, foreground="black")]
    (line,) = axes.plot([left + 2, left + 12], [low + 2.5] * 2, color=INK, linewidth=2, solid_capstyle="butt")
    text = axes.text(left + 2, low + 3.6, "10 mm", color=INK, fontsize=8.5)
    line.set_path_effects(halo)
    text.set_path_effects([effects.withStroke(linewidth=2, foreground="black")])


def _frame(axes: Any, scene: Scene, plane: Plane) -> None:
    """Draw directions, and the frame of the close-up."""
    patches = need("matplotlib.patches", _PURPOSE)
    right, up, top, bottom = plane.edges[1], plane.edges[2], 0.985, 0.015
    effects = need("matplotlib.patheffects", _PURPOSE)
    halo = [effects.withStroke(linewidth=2, foreground="black")]
    style = {"color": INK, "fontsize": 9, "transform": axes.transAxes, "path_effects": halo}
    axes.text(0.015, 0.5, plane.edges[0], ha="left", va="center", **style)
    axes.text(0.985, 0.5, right, ha="right", va="center", **style)
    axes.text(0.5, top, up, ha="center", va="top", **style)
    axes.text(0.5, bottom, plane.edges[3], ha="center", va="bottom", **style)
    where = scene.view.space(scene.point)[plane.cut]
    name = ("x", "y", "z")[plane.cut]
    axes.set_title(f"{plane.name}, {name} = {where:.0f} mm", color=SOFT, fontsize=10, pad=5, loc="left")
    left, far, low, high = scene.view.window(plane, scene.close)
    axes.add_patch(
        patches.Rectangle((left, low), far - left, high - low, fill=False, edgecolor=INK, linewidth=0.7, alpha=0.55)
    )


def _numbers(axes: Any, scene: Scene, plane: Plane) -> None:
    """Draw the numbers of the lesions that are largest in the slice."""
    effects = need("matplotlib.patheffects", _PURPOSE)
    view = scene.view
    section = np.take(scene.labels, scene.point[plane.cut], axis=plane.cut)  # [across, up]
    present, areas = np.unique(section[section > 0], return_counts=True)
    for component in present[np.argsort(-areas)][:_MOST_MARKS].tolist():
        if (mark := scene.numbers.get(component)) is None:
            continue
        across, up = np.nonzero(section == component)
        highest = np.lexsort((across, -up))[0]  # the rightmost one in the picture if several are equally high
        corner = [0, 0, 0]
        corner[plane.across], corner[plane.up] = int(across[highest]), int(up[highest])
        place = view.place(plane, (corner[0], corner[1], corner[2]))
        text = axes.annotate(
            f"{mark.label}?" if mark.look_at else str(mark.label),
            place,
            xytext=(2, 3),
            textcoords="offset points",
            color=LOOK if mark.look_at else INK,
            fontsize=8.5,
            fontweight="bold" if mark.look_at else "normal",
            annotation_clip=True,
        )
        text.set_path_effects([effects.withStroke(linewidth=1.8, foreground="black", alpha=0.8)])


def _bar(figure: Any, axes: Any, shown: Any, scene: Scene) -> None:
    beyond = float(np.nanmax(scene.view.volumes["uncertainty"])) > scene.most
    bar = figure.colorbar(shown, cax=axes, extend="max" if beyond else "neither")
    bar.set_alpha(1)
    bar.set_label(f"{scene.picture.measure}, nats", color=INK, fontsize=9)
    bar.ax.tick_params(colors=SOFT, labelsize=8, length=2)
    bar.outline.set_edgecolor(FAINT)


def _words(figure: Any, scene: Scene, height: float) -> None:
    lines2d = need("matplotlib.lines", _PURPOSE)
    picture = scene.picture

    def text(inches: float, content: str, **style: Any) -> None:
        figure.text(_LEFT / _WIDTH, 1 - inches / height, content, va="baseline", parse_math=False, **style)

    text(0.42, picture.title, color=INK, fontsize=15, fontweight="bold")
    text(0.70, picture.details, color=SOFT, fontsize=10)
    lines = [lines2d.Line2D([], [], color=PREDICTION, linewidth=1.6, label="prediction")]
    if picture.truth is not None:
        lines.append(lines2d.Line2D([], [], color=TRUTH, linewidth=1.6, linestyle=(0, (3, 1.2)), label="ground truth"))
    figure.legend(
        handles=lines,
        loc="upper right",
        bbox_to_anchor=(1 - 0.15 / _WIDTH, 1 - 0.2 / height),
        ncols=1,
        frameon=False,
        labelcolor=INK,
        fontsize=9,
    )
    marks = "Numbers are those of the table of lesions; those with a ? are to be looked at. " if picture.marks else ""
    figure.text(
        _LEFT / _WIDTH,
        0.17 / height,
        "Slices through the lesion that holds most uncertainty, seen as radiologists do: the patient's left is on the "
        f"right.\n{marks}Research software, not a medical device.",
        color=SOFT,
        fontsize=8.5,
        linespacing=1.4,
    )
