"""Pictures of the page: Figures 8 and 9 of Shifts 2.0, and which scans would be deferred."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

from benchmarks.lesion_tables.canonical import UNET_ENSEMBLE, UNETR_ENSEMBLE, Results, correlation
from benchmarks.lesion_tables.judge import FIGURES
from models import calibration
from models.assessment.segmentation_retention import log_grid, voxel_r_aac

RETENTION = 0.95
"""In-domain scans that the threshold should keep: the services' default."""
SHOWN_FROM = 0.9
"""Retained share at the left of Figure 9: what is wrong is a small part of a brain."""
SHOWN = ("eval_in", "dev_out", "eval_out")
COLOURS = {"dev_in": "#7f7f7f", "eval_in": "#1f77b4", "dev_out": "#ff7f0e", "eval_out": "#d62728"}


def draw_load(results: Results, path: Path, split: str = "eval_in") -> None:
    """Figure 8: both scores of each scan against lesion load, with the line of least squares."""
    figure, axes = _subplots(1, 2, (10.5, 4.2))
    load = results.load(split)
    for axis, name, word in zip(axes, ("dice", "ndsc"), ("DSC", "nDSC"), strict=True):
        score = results.figure(UNET_ENSEMBLE, split, name)[0]
        found = correlation(load, score)
        axis.scatter(100 * load, 100 * score, s=18, color=COLOURS[split])
        if len(load) > 1 and np.ptp(load):
            ends = np.array([load.min(), load.max()])
            axis.plot(100 * ends, 100 * np.polyval(np.polyfit(load, score, 1), ends), color="#444444", linewidth=1)
        axis.set(title=f"{word}: Pearson {found.pearson:.2f}, Spearman {found.spearman:.2f}")
        axis.set(xlabel="lesion load, % of the volume", ylabel=f"{word}, %", ylim=(0, 100))
        axis.grid(alpha=0.3)
    figure.suptitle(f"{split}, UNET deep ensemble")
    _save(figure, path)


def draw_retention(results: Results, path: Path) -> None:
    """Figure 9: a panel a split, axes as there: few voxels matter, so that little retained is left out."""
    from matplotlib import ticker

    figure, axes = _subplots(1, len(SHOWN), (12.5, 4.8))
    grid = log_grid()
    for axis, split in zip(axes, SHOWN, strict=True):
        for row, colour in ((UNET_ENSEMBLE, "#1f77b4"), (UNETR_ENSEMBLE, "#2ca02c")):
            random, ideal = results.bounds(row, split)
            curve = results.curve(row, split, "rmi")
            for values, style, word in ((curve, "-", "RMI"), (ideal, ":", "ideal"), (random, "--", "random")):
                label = f"{row.architecture} {word}, {100 * voxel_r_aac(values):.2f}"
                axis.plot(grid, 100 * values, style, color=colour, linewidth=1.3, label=label)
        axis.set(title=split, xlabel="retained share of the brain's voxels", xlim=(SHOWN_FROM, 1))
        axis.xaxis.set_major_locator(ticker.MaxNLocator(5))
        axis.grid(alpha=0.3)
        beneath = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.15), "ncols": 2}
        axis.legend(frameon=False, fontsize=8, title="R-AUC, %", title_fontsize=8, **beneath)
    axes[0].set(ylabel="nDSC, %")
    low = min(axis.get_ylim()[0] for axis in axes)
    for axis in axes:
        axis.set(ylim=(low, 101))
    _save(figure, path)


def draw_deferral(results: Results, path: Path) -> float:
    """Structural uncertainty of scans against 1 - nDSC; the threshold, which keeps ``RETENTION`` of in-domain scans."""
    limit = threshold(results)
    figure, axes = _subplots(1, 1, (7.5, 5))
    axis = axes[0]
    for (split, colour), marker in zip(COLOURS.items(), "osv^", strict=True):
        uncertainty, error = structural(results, split), 1 - results.figure(UNET_ENSEMBLE, split, "ndsc")[0]
        rank = correlation(uncertainty, error).spearman
        label = f"{split}: {np.mean(uncertainty <= limit):.0%} of {len(error)} answered, Spearman {rank:.2f}"
        axis.scatter(uncertainty, error, s=18, color=colour, marker=marker, label=label)
    axis.axvline(limit, color="#444444", linestyle="--", linewidth=1, label=f"threshold {limit:.3f}")
    axis.set(xlabel="scan structural uncertainty", ylabel="1 - nDSC", ylim=(0, 1), title="UNET deep ensemble")
    axis.grid(alpha=0.3)
    axis.legend(frameon=False, fontsize=8)
    _save(figure, path)
    return limit


def threshold(results: Results) -> float:
    """The largest structural uncertainty that is answered, from the calibration scans."""
    column = FIGURES.index("structural")
    known = np.array([one.figures[0, column] for one in results.calibration])
    table = calibration.retention_table("scan_structural_uncertainty", known)
    return table.threshold(min(RETENTION, table.levels[-1]))


def structural(results: Results, split: str) -> Any:
    """Of the UNET ensemble, [scans]."""
    return results.figure(UNET_ENSEMBLE, split, "structural")[0]


def _subplots(rows: int, columns: int, size: tuple[float, float]) -> tuple[Any, Any]:
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(rows, columns, figsize=size, layout="constrained", squeeze=False)
    return figure, axes[0]


def _save(figure: Any, path: Path) -> None:
    from matplotlib import pyplot as plt

    figure.savefig(path, dpi=90, metadata={"Software": None})
    plt.close(figure)
