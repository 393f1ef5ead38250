"""Page of real scans in Markdown, with a table for each artefact, and pictures."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from benchmarks import machine
from studies import pages
from studies.lesion_real.judge import ATTRIBUTION, Opened, Result
from studies.served import RETENTION

PREDICTION, TRUTH = "#ffa62b", "#5ec8f2"


def document(models: Mapping[str, tuple[Opened, Sequence[Result]]]) -> str:
    """Return the page above the hand-written part; artefacts by name."""
    sections = [
        block for name, (opened, results) in models.items() for block in (f"## {name}", _about(opened), table(results))
    ]
    return pages.document(
        "# Lesions: real scans",
        f"{pages.written_by('lesion_real')} Artefacts that were trained on "
        "simulated scans only, on real ones, offline and through what serves: three research scans (MNI space, 1 mm, "
        "skull-stripped, bias-corrected) with lesion masks that several raters agreed on, and four raw clinical ones "
        "(thick slices, with the skull, nothing corrected), which no artefact is made for and which should be deferred "
        "or at least remarked on. **The three research scans are no independent test set**: numbers of the simulator "
        "(contrasts, halos, noise; with 27 further masks also loads, numbers and sizes of lesions) were chosen by hand "
        "beside them ([datasheet](../datasheets/lesion-simulator.md#beside-real-scans)), so scores on them may flatter "
        "the networks; no network, threshold or calibration has seen them. The four raw ones had no part in it. Brain "
        "masks are not given: nonzero voxels count as the brain.",
        f"Decisions are those of a service with default settings: a scan is answered if its uncertainty is below "
        f"the artefact's own threshold, which keeps {RETENTION:.0%} of simulated in-domain scans, and if it does not "
        "count as shifted: by remarks on its looks, or by a mean mutual information above 99.9 % of in-domain scans. "
        "nDSC, DSC and lesion F1 (IoU 0.5) are of the whole volume, R-AUC (× 100) inside the brain.",
        f"Run on {machine.line()}.",
        f"*{ATTRIBUTION}*",
        *sections,
    )


def table(results: Sequence[Result]) -> str:
    """Return a table with one row per scan."""
    heads = (
        *("scan", "voxel, mm", "nDSC", "DSC", "lesion F1", "R-AUC", "true ml", "found ml", "interval", "lesions"),
        *("uncertainty", "decision", "mean MI", "shifted by", "remarks"),
    )
    return pages.table(heads, map(_row, results))


def _row(result: Result) -> tuple[object, ...]:
    answer, scores = result.said, [pages.NONE] * 5
    if result.scores is not None:
        per_cent = [f"{100 * result.scores[name]:.1f}" for name in ("ndsc", "dice", "lesion_f1")]
        scores = [*per_cent, f"{100 * result.scores['r_aac']:.2f}", f"{result.scores['true_ml']:.1f}"]
    interval = pages.NONE if answer.volume_interval is None else "{:.1f} to {:.1f}".format(*answer.volume_interval)
    knowledge = pages.NONE if answer.knowledge is None else f"{answer.knowledge:.2g}"
    return (
        *(result.name, result.spacing, *scores, f"{answer.volume_ml:.1f}", interval, answer.count),
        *(f"{answer.uncertainty:.3f}", answer.decision.replace("deferred", "**deferred**"), knowledge),
        *(answer.shifted or pages.NONE, ", ".join(answer.remarks) or "none"),
    )


def draw(results: Sequence[Result], path: Path, title: str) -> None:
    """Draw a column for each scan: the slice with outlines, and the same slice with uncertainty."""
    figure = Figure(figsize=(2.0 * len(results), 6.4), layout="constrained", facecolor="black")
    axes = figure.subplots(2, len(results), squeeze=False)
    for column, result in enumerate(results):
        panel = result.panel
        width, height = panel.size_mm
        inside = panel.flair[panel.flair > 0]
        low, high = np.percentile(inside, (1, 99.7)) if len(inside) else (0.0, 1.0)
        for row, axis in enumerate(axes[:, column]):
            extent = (0, width, 0, height)
            axis.imshow(
                panel.flair, cmap="gray", vmin=low, vmax=high + row * (high - low), extent=extent, origin="lower"
            )
            axis.set(xlim=panel.window[:2], ylim=panel.window[2:])
            axis.set_axis_off()
            if row:
                seen = np.ma.masked_less(panel.uncertainty, 1e-3)
                axis.imshow(seen, cmap="inferno", alpha=0.85, vmin=0, vmax=0.15, extent=extent, origin="lower")
            else:
                for mask, colour, style in ((panel.prediction, PREDICTION, "-"), (panel.truth, TRUTH, "--")):
                    if mask is not None and mask.any():
                        axis.contour(
                            mask, [0.5], colors=colour, linestyles=style, linewidths=0.8, extent=extent, origin="lower"
                        )
        answer = result.said
        score = "no mask" if result.scores is None else f"nDSC {100 * result.scores['ndsc']:.0f} %"
        shifted = ", shifted" if answer.shifted and "shift" not in answer.decision else ""
        axes[0, column].set_title(
            f"{result.name}\n{score}\nuncertainty {answer.uncertainty:.2f}\n{answer.decision}{shifted}",
            color="white",
            fontsize=8,
        )
    figure.suptitle(
        f"{title}: predicted (orange), consensus of raters (blue, dashed); below: RMI to 0.15 nats",
        color="white",
        fontsize=9,
    )
    figure.supxlabel(ATTRIBUTION, color="#b4b8c0", fontsize=6)
    pages.save(figure, path, dpi=85)


def _about(opened: Opened) -> str:
    policy = opened.policy
    at = f"all is deferred: {policy.reason}" if policy.reason else f"deferred above {policy.threshold:.3f}"
    limit = (
        ""
        if policy.knowledge_reference is None
        else f", shifted above a mean MI of {policy.knowledge_reference:.2g} nats"
    )
    return (
        f"{len(opened.members)} members, {' and '.join(opened.recipe.channels)}, voxels from "
        f"{opened.recipe.threshold:.2f}; `{policy.measure}`, {at}{limit}."
    )
