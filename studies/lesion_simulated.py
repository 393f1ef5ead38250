"""Simulated brains beside real ones: the figure and numbers of the simulator's data sheet.

    demur data lesion simulate --scale 2 --out data/lesion
    python -m studies.lesion_simulated data/lesion --most 10 [--real ../shared/data/lesion] [--out docs/datasheets]

``--real`` is a folder of real scans and masks from Ljubljana, one ``ljubljana_cross_sectional/patientNN/`` a scan with
``FLAIR.nii.gz`` and ``lesion_mask.nii.gz`` of 1 mm, and ``lesion_masks_mni/``; only sums of them are shown.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy import ndimage

from benchmarks import machine
from models.tasks.lesion.data import official, volumes
from studies import pages

COLOURS = {
    "site_a": "#1b7837",
    "site_b": "#5aae61",
    "site_c": "#4393c3",
    "site_d": "#2166ac",
    "site_e": "#d6604d",
    "site_f": "#e08214",
    "real": "black",
}
GRID = np.linspace(-3.5, 3.5, 71)
"""Bin edges of z-scored FLAIR."""
PICTURED = 8.0
"""Target volume of lesions in the pictured scans, ml."""


@dataclass(frozen=True)
class Measured:
    """Sums of one scan."""

    sizes: NDArray[np.int64]
    """Number of voxels of each lesion (faces touch)."""
    histogram: NDArray[np.float64]
    """Share of brain voxels in the bins of ``GRID``."""
    lesion: float
    """Mean of z-scored FLAIR in lesions, and of a ring 2 to 3 voxels around them."""
    ring: float
    threshold: float
    """Dice coefficient of the best threshold of FLAIR."""
    brain: int


def main(arguments: list[str] | None = None) -> int:
    parser = pages.parser("lesion_simulated", __doc__, out=pages.DATASHEETS)
    parser.add_argument("data", type=Path, help="folder of simulated scans")
    parser.add_argument("--real", type=Path, help="folder of real scans and masks")
    parser.add_argument("--most", type=int, default=12, help="scans of each site that are read")
    options = parser.parse_args(arguments)
    chosen: dict[str, list[official.Case]] = {}
    for case in official.cases(options.data):
        if case.split not in ("dev_in", "train") or case.site not in ("site_e", "site_f"):
            chosen.setdefault(case.site, []).append(case)
    measured = {site: [measure(*_loaded(case)) for case in cases[: options.most]] for site, cases in chosen.items()}
    masks: list[NDArray[np.int64]] = []
    if options.real:
        real = sorted((options.real / "ljubljana_cross_sectional").glob("*/"))
        measured["real"] = [measure(*_real(folder)) for folder in real]
        masks = [sizes(volumes.mask(path)[1]) for path in sorted((options.real / "lesion_masks_mni").glob("*.nii.gz"))]
        masks += [scan.sizes for scan in measured["real"]]
    for site, several in measured.items():
        sys.stdout.write(f"{site}: {told(several)}\n")
    if masks:
        sys.stdout.write(f"real masks: {law(masks)}\n")
    for site in chosen:
        sys.stdout.write(f"{site}: {law([scan.sizes for scan in measured[site]])}\n")
    draw(chosen, measured, masks, options.out / "lesion-simulator.png")
    sys.stdout.write(f"{machine.line()}\n")
    return 0


def measure(flair: NDArray[Any], truth: NDArray[np.bool_]) -> Measured:
    """Return the sums of a scan: FLAIR [x, y, z], 0 outside the brain."""
    brain = flair != 0
    z = np.where(brain, (flair - flair[brain].mean()) / flair[brain].std(), 0)
    near = ndimage.binary_dilation(truth)
    ring = ndimage.binary_dilation(near, iterations=2) & ~near & brain
    hits = np.cumsum(truth[brain][np.argsort(-z[brain])])
    dice = 2 * hits / (np.arange(1, len(hits) + 1) + truth.sum())
    counts = np.histogram(z[brain], GRID)[0]
    return Measured(
        sizes(truth),
        counts / brain.sum(),
        float(z[truth].mean()),
        float(z[ring].mean()),
        float(dice.max()),
        int(brain.sum()),
    )


def sizes(truth: NDArray[np.bool_]) -> NDArray[np.int64]:
    labels, count = ndimage.label(truth)
    return np.bincount(labels.ravel(), minlength=count + 1)[1:]


def told(several: Sequence[Measured]) -> str:
    """Return means over scans as text."""
    loads = np.array([scan.sizes.sum() for scan in several]) / 1000
    return (
        f"{len(several)} scans, {loads.mean():.1f} ± {loads.std():.1f} ml, "
        f"{np.mean([len(scan.sizes) for scan in several]):.0f} lesions, "
        f"brain {np.mean([scan.brain for scan in several]) / 1000:.0f} ml, "
        f"z of lesions {np.mean([scan.lesion for scan in several]):.2f}, "
        f"around {np.mean([scan.ring for scan in several]):.2f}, "
        f"Dice of best threshold {np.mean([scan.threshold for scan in several]):.2f}"
    )


def law(several: Sequence[NDArray[np.int64]]) -> str:
    """Return quantiles of sizes and the law of counts over scans as text."""
    every = np.concatenate(several)
    loads = np.log([mask.sum() / 1000 for mask in several])
    counts = np.log([len(mask) for mask in several])
    largest = np.mean([mask.max() / mask.sum() for mask in several])
    quantiles = " ".join(f"{value:.0f}" for value in np.quantile(every, [0.25, 0.5, 0.75, 0.9, 0.95, 0.99]))
    return (
        f"sizes at 25 50 75 90 95 99 %: {quantiles} mm³, sd of their logarithm {np.log(every).std():.2f}; "
        f"ln(load/ml) {loads.mean():.2f} ± {loads.std():.2f}, ln(count) {counts.mean():.2f} ± {counts.std():.2f}, "
        f"correlation {np.corrcoef(loads, counts)[0, 1]:.2f}, share of the largest lesion {largest:.2f}"
    )


def draw(
    cases: dict[str, list[official.Case]],
    measured: dict[str, list[Measured]],
    masks: Sequence[NDArray[np.int64]],
    path: Path,
) -> None:
    """Draw a slice of FLAIR and T1 of each site with lesion outlines, and plots of sizes, loads and grey values."""
    figure = Figure(figsize=(13, 9), layout="constrained")
    above, below = figure.subfigures(2, 1, height_ratios=(1.45, 1))
    pictures, curves = above.add_gridspec(2, 6), below.add_gridspec(1, 3)
    for column, (site, several) in enumerate(cases.items()):
        known = measured[site]
        chosen = min(range(len(known)), key=lambda index: abs(known[index].sizes.sum() / 1000 - PICTURED))
        case = several[chosen]
        loaded = official.load(case, ("flair",) if case.t1 is None else ("flair", "t1"))
        assert loaded.truth is not None
        level = int(np.argmax(loaded.truth[:, :, 70:].sum(axis=(0, 1)))) + 70
        for row, image in enumerate(loaded.volumes):
            axes = above.add_subplot(pictures[row, column])
            inside = image[image != 0]
            middle, spread = inside.mean(), inside.std()
            axes.imshow(
                image[:, :, level].T,
                origin="lower",
                cmap="gray",
                vmin=middle - 2.5 * spread,
                vmax=middle + 2.8 * spread,
            )
            if row == 0:
                axes.contour(loaded.truth[:, :, level].T, [0.5], colors="red", linewidths=0.7)
                axes.set_title(site, color=COLOURS[site])
            axes.set_axis_off()
    left, middle_axes, right = (below.add_subplot(curves[0, third]) for third in range(3))
    for site in cases:
        _law(left, np.concatenate([scan.sizes for scan in measured[site]]), COLOURS[site], site)
        loads, counts = zip(*((scan.sizes.sum() / 1000, len(scan.sizes)) for scan in measured[site]), strict=True)
        middle_axes.scatter(loads, counts, s=14, color=COLOURS[site])
    if masks:
        _law(left, np.concatenate(masks), COLOURS["real"], "30 real masks")
        loads, counts = zip(*((mask.sum() / 1000, len(mask)) for mask in masks), strict=True)
        middle_axes.scatter(loads, counts, s=18, marker="x", color=COLOURS["real"])
    left.set(
        xscale="log", yscale="log", xlabel="volume of a lesion (mm³)", ylabel="share that is larger", ylim=(1e-3, 1.1)
    )
    left.legend(frameon=False, fontsize=8)
    middle_axes.set(xscale="log", yscale="log", xlabel="lesions of a scan together (ml)", ylabel="number of lesions")
    centres = (GRID[1:] + GRID[:-1]) / 2
    for site, several_measured in measured.items():
        density = np.mean([scan.histogram for scan in several_measured], axis=0) / (GRID[1] - GRID[0])
        width = 2.2 if site == "real" else 1.1
        right.plot(
            centres, density, color=COLOURS[site], linewidth=width, label="3 real scans" if site == "real" else None
        )
    right.set(xlabel="FLAIR, z-scored over the brain", ylabel="density")
    if "real" in measured:
        right.legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=70)


def _law(axes: Any, values: NDArray[np.int64], colour: str, label: str) -> None:
    axes.step(np.sort(values), 1 - np.arange(len(values)) / len(values), color=colour, label=label, linewidth=1.3)


def _loaded(case: official.Case) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    loaded = official.load(case, ("flair",))
    assert loaded.truth is not None
    return loaded.volumes[0], loaded.truth


def _real(folder: Path) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    return volumes.read(folder / "FLAIR.nii.gz").values.astype(np.float32), volumes.mask(folder / "lesion_mask.nii.gz")[
        1
    ]


if __name__ == "__main__":
    raise SystemExit(main())
