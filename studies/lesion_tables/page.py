"""Page of tables in Markdown, laid out as in the paper."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import ticker
from matplotlib.figure import Figure
from numpy.typing import NDArray

from benchmarks import machine
from models import calibration
from models.artefact import Artefact
from models.assessment.segmentation_retention import log_grid, voxel_r_aac
from studies import pages, statements
from studies.lesion_tables.canonical import Results, correlation
from studies.lesion_tables.judge import FIGURES, MEASURES
from studies.lesion_tables.plan import (
    BOTH,
    CANONICAL_COUNTS,
    DROPOUT,
    DROPOUT_MCDP,
    INSIDE,
    LAST,
    ROWS,
    SINGLE,
    SITES,
    SPLITS,
    TESTED,
    TITLES,
    UNET,
    UNET_ENSEMBLE,
    UNETR,
    UNETR_ENSEMBLE,
    Crossed,
    Excluded,
    Plan,
    Row,
)
from studies.statements import Statement

TABLE_2 = (("Single", (UNET, DROPOUT, UNETR)), ("Ensemble", (UNET_ENSEMBLE, DROPOUT_MCDP, UNETR_ENSEMBLE, BOTH)))
PICTURES = (
    ("lesion-load.png", "Figure 8: DSC and nDSC against lesion load, eval_in, UNET ensemble"),
    ("lesion-retention.png", "Figure 9: retention curves of the UNET and UNETR ensembles"),
    ("lesion-deferral.png", "Structural uncertainty of scans against their error, UNET ensemble"),
)


def document(
    plan: Plan,
    results: Results,
    checked: Sequence[Statement],
    thresholds: Mapping[Row, Sequence[float]],
    sites: str,
    artefacts: Sequence[Artefact] = (),
) -> str:
    """Return the page above the hand-written part.

    Args:
        sites: Tables 4 and 5, or nothing if they were not run.
        artefacts: artefacts built from the evaluated members.
    """
    splits = ", ".join(f"{name} {len(plan.entries(name))}" for name in ("train", *SPLITS))
    whole = ", ".join(f"{name} {count}" for name, count in CANONICAL_COUNTS.items())
    return pages.document(
        "# Lesions: the tables of the paper on simulated sites",
        f"{pages.written_by('lesion_tables')} Scans are simulated "
        "([datasheet](../datasheets/lesion-simulator.md)), networks are small and trained for minutes, so numbers are "
        "compared with Shifts 2.0 (section 3, appendix C) in their relations, not digit by digit.",
        pages.bullets(
            f"Scans: seed {plan.seed}: {splits} (canonical: {whole}), {plan.calibration} more in-domain for the "
            f"deferral threshold. In-domain sites are {', '.join(INSIDE)}; dev_out is site_e, eval_out {LAST}. FLAIR "
            "only.",
            f"Networks: {_networks(plan)}",
            "As released: windows of 96 voxels, 25 % overlap, Gaussian weights over logits, sigmoid a member, mean, "
            "threshold, components of at most 9 voxels dropped. Thresholds maximise the mean nDSC of dev_in in steps "
            "of 0.01, each single model has its own.",
            "nDSC and DSC over the whole volume, lesion F1 from an IoU of 0.5, R-AUC (the area *above* the retention "
            "curve of nDSC, × 100) inside the brain mask: single models by entropy, ensembles by reverse mutual "
            "information. Means over scans; ± is one standard deviation over the single models (MCDP: over the "
            "networks).",
            f"{machine.line()}.",
        ),
        built(artefacts) if artefacts else "",
        "Thresholds: " + "; ".join(f"{title(row)} {_levels(levels)}" for row, levels in thresholds.items()) + ".",
        "## Table 2: nDSC and R-AUC",
        table_2(results),
        "## Table 8: DSC, nDSC and their correlation with lesion load, UNET ensemble",
        table_8(results),
        "## Table 9: nDSC (%)",
        per_split(results, "ndsc"),
        "## Table 10: lesion F1 (%)",
        per_split(results, "lesion_f1"),
        "## Table 11: R-AUC (%)",
        per_split(results, None),
        "The same areas by each measure, deep ensembles and MCDP:",
        measures(results),
        sites,
        "## Pictures",
        *(pages.picture(words, file) for file, words in PICTURES),
        "## Relations that the paper reports",
        statements.table(checked),
    )


def built(artefacts: Sequence[Artefact]) -> str:
    """Return the line that names artefacts and the digests of their weights."""
    return (
        "Artefacts of the deep ensembles, built from these members by `python -m studies.lesion_reference`: "
        f"{', '.join(map(pages.named, artefacts))}; in brackets the first digits of the sha256 of the lines that "
        "`sha256sum` prints of their graphs (`sha256sum member-*.onnx | sha256sum`)."
    )


def table_2(results: Results) -> str:
    """Return Table 2: both figures side by side, without deviations."""
    heads = [f"{figure} {TITLES[split]}" for figure in ("nDSC", "R-AUC") for split in SPLITS]
    return pages.table(
        ("type", "model", *heads),
        (
            (
                kind,
                row.architecture + "-DP" * (row.dropout != "0.0"),
                *(
                    f"{100 * results.mean(row, split, figure):.2f}"
                    for figure in ("ndsc", row.r_auc)
                    for split in SPLITS
                ),
            )
            for kind, rows in TABLE_2
            for row in rows
        ),
    )


def per_split(results: Results, figure: str | None) -> str:
    """Return a table of one figure, rows as in Tables 9 to 11; None for the row's own R-AUC."""
    return pages.table(
        ("arch", "DP", "model", *TITLES.values()),
        ((row.architecture, row.dropout, row.kind, *_spreads(results, row, figure or row.r_auc)) for row in ROWS),
    )


def measures(results: Results) -> str:
    """Return a table of R-AUC of ensembles by measure."""
    return pages.table(
        ("model", "measure", *TITLES.values()),
        (
            (title(row), measure, *_spreads(results, row, f"r_aac_{measure}"))
            for row in ROWS
            if row.kind != SINGLE
            for measure in MEASURES
        ),
    )


def table_8(results: Results) -> str:
    """Return Table 8: mean scores and correlations."""
    heads = ("DSC", "nDSC", "Pearson DSC", "Pearson nDSC", "Spearman DSC", "Spearman nDSC", "mean load (%)")
    rows = []
    for split in SPLITS:
        load = results.load(split)
        scores = [results.figure(UNET_ENSEMBLE, split, name)[0] for name in ("dice", "ndsc")]
        linked = [correlation(load, score) for score in scores]
        values = (*(100 * score.mean() for score in scores), *(link.pearson for link in linked))
        values = (*values, *(link.spearman for link in linked))
        rows.append((TITLES[split], *(f"{value:.2f}" for value in values), f"{100 * load.mean():.3f}"))
    return pages.table(("split", *heads), rows)


def sites(plan: Plan, crossed: Crossed, excluded: Sequence[Excluded]) -> str:
    """Return Tables 4 and 5, with a description of their experiments."""
    return pages.document(
        "## Table 4: trained on one site, tested on each (nDSC, %)",
        f"Smaller than the main tables: U-Nets of {plan.site_channels} channels, {plan.site_members} members a "
        f"training set, {plan.site_steps} steps, {plan.site_tests} test scans a site, and {plan.site_train} of its "
        "training scans beside its development scans for the second way of choosing thresholds. All six sites "
        "train; the paper's Lausanne did not.",
        pages.table(
            ("thresholding", "train", *SITES),
            (
                (way, site, *(f"{100 * value:.2f}" for value in row))
                for way, values in crossed.ndsc.items()
                for site, row in zip(SITES, values, strict=True)
            ),
        ),
        "Thresholds of the first way: "
        + ", ".join(f"{site} {level:.2f}" for site, level in zip(SITES, crossed.own, strict=True))
        + ".",
        "## Table 5: trained on all sites but one and site_f (%)",
        "The same networks and scans; thresholds by the development scans of the sites trained on. *Out* is the "
        f"test scans and {plan.site_train} training scans of the site left out.",
        pages.table(
            ("excluded", "model", *(f"{figure} {part}" for figure in ("nDSC", "R-AUC") for part in TESTED)),
            (
                (
                    record.site,
                    record.kind,
                    *(spread(figure[part]) for figure in (record.ndsc, record.r_auc) for part in TESTED),
                )
                for record in excluded
            ),
        ),
    )


def title(row: Row) -> str:
    """Return the name of a row."""
    return f"{row.architecture} {'DP ' * (row.dropout != '0.0')}{row.kind}"


def spread(values: NDArray[np.float64]) -> str:
    """Return mean ± standard deviation over models in per cent."""
    return pages.spread(values, 100)


def _spreads(results: Results, row: Row, figure: str) -> list[str]:
    return [spread(results.means(row, split, figure)) for split in SPLITS]


def _networks(plan: Plan) -> str:
    settings = {family: plan.settings(family) for family in ("unet", "unetr")}
    words = {
        family: ", then ".join(f"{stage.steps} steps of {stage.batch} × {stage.edge}³" for stage in setting.stages)
        for family, setting in settings.items()
    }
    return (
        f"{plan.members} seeds of each; U-Net {settings['unet'].sizes}, {words['unet']}; with and without 50 % dropout "
        f"of channels; UNETR {settings['unetr'].sizes}, {words['unetr']}. The paper trains up to 300 epochs."
    )


def _levels(levels: Sequence[float]) -> str:
    return ", ".join(f"{level:.2f}" for level in levels)


RETENTION = 0.95
"""Share of in-domain scans that the threshold should keep: the services' default."""
SHOWN_FROM = 0.9
"""Smallest retained share in Figure 9, since errors are a small part of a brain."""
SHOWN = ("eval_in", "dev_out", "eval_out")
COLOURS = {"dev_in": "#7f7f7f", "eval_in": "#1f77b4", "dev_out": "#ff7f0e", "eval_out": "#d62728"}


def draw_load(results: Results, path: Path, split: str = "eval_in") -> None:
    """Draw Figure 8: both scores of each scan against lesion load, with the least-squares line."""
    figure = Figure(figsize=(10.5, 4.2), layout="constrained")
    axes = figure.subplots(1, 2)
    load = results.load(split)
    for axis, name, word in zip(axes, ("dice", "ndsc"), ("DSC", "nDSC"), strict=True):
        score = results.figure(UNET_ENSEMBLE, split, name)[0]
        link = correlation(load, score)
        axis.scatter(100 * load, 100 * score, s=18, color=COLOURS[split])
        if len(load) > 1 and np.ptp(load):
            ends = np.array([load.min(), load.max()])
            axis.plot(100 * ends, 100 * np.polyval(np.polyfit(load, score, 1), ends), color="#444444", linewidth=1)
        axis.set(title=f"{word}: Pearson {link.pearson:.2f}, Spearman {link.spearman:.2f}")
        axis.set(xlabel="lesion load, % of the volume", ylabel=f"{word}, %", ylim=(0, 100))
        axis.grid(alpha=0.3)
    figure.suptitle(f"{split}, UNET deep ensemble")
    pages.save(figure, path)


def draw_retention(results: Results, path: Path) -> None:
    """Draw Figure 9: a panel per split with the paper's axes, from ``SHOWN_FROM`` on."""
    figure = Figure(figsize=(12.5, 4.8), layout="constrained")
    axes = figure.subplots(1, len(SHOWN))
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
    pages.save(figure, path)


def draw_deferral(results: Results, path: Path) -> float:
    """Draw structural uncertainty of scans against 1 - nDSC, and return the threshold for ``RETENTION`` in domain."""
    limit = threshold(results)
    figure = Figure(figsize=(7.5, 5), layout="constrained")
    axis = figure.subplots()
    for (split, colour), marker in zip(COLOURS.items(), "osv^", strict=True):
        uncertainty, error = structural(results, split), 1 - results.figure(UNET_ENSEMBLE, split, "ndsc")[0]
        rank = correlation(uncertainty, error).spearman
        label = f"{split}: {np.mean(uncertainty <= limit):.0%} of {len(error)} answered, Spearman {rank:.2f}"
        axis.scatter(uncertainty, error, s=18, color=colour, marker=marker, label=label)
    axis.axvline(limit, color="#444444", linestyle="--", linewidth=1, label=f"threshold {limit:.3f}")
    axis.set(xlabel="scan structural uncertainty", ylabel="1 - nDSC", ylim=(0, 1), title="UNET deep ensemble")
    axis.grid(alpha=0.3)
    axis.legend(frameon=False, fontsize=8)
    pages.save(figure, path)
    return limit


def threshold(results: Results) -> float:
    """Return the largest structural uncertainty that is answered, from the calibration scans."""
    column = FIGURES.index("structural")
    known = np.array([scan.figures[0, column] for scan in results.calibration])
    table = calibration.retention_table("scan_structural_uncertainty", known)
    return table.threshold(min(RETENTION, table.levels[-1]))


def structural(results: Results, split: str) -> Any:
    """Return the structural uncertainty of the UNET ensemble, [scans]."""
    return results.figure(UNET_ENSEMBLE, split, "structural")[0]
