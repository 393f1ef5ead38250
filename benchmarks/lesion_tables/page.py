"""The page of tables: markdown of what was judged, laid out as in the paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks import machine, relations, weights
from benchmarks.lesion_tables.canonical import Results, correlation
from benchmarks.lesion_tables.judge import MEASURES
from benchmarks.lesion_tables.plan import CANONICAL_COUNTS, INSIDE, LAST, SITES, SPLITS, Plan
from benchmarks.lesion_tables.tables import (
    BOTH,
    DROPOUT,
    DROPOUT_MCDP,
    ROWS,
    SINGLE,
    TITLES,
    UNET,
    UNET_ENSEMBLE,
    UNETR,
    UNETR_ENSEMBLE,
    Crossed,
    Excluded,
    Row,
)
from benchmarks.relations import Relation
from models.artefact import Artefact

TABLE_2 = (("Single", (UNET, DROPOUT, UNETR)), ("Ensemble", (UNET_ENSEMBLE, DROPOUT_MCDP, UNETR_ENSEMBLE, BOTH)))
FIGURES = (
    ("lesion-load.png", "Figure 8: DSC and nDSC against lesion load, eval_in, UNET ensemble"),
    ("lesion-retention.png", "Figure 9: retention curves of the UNET and UNETR ensembles"),
    ("lesion-deferral.png", "Structural uncertainty of scans against their error, UNET ensemble"),
)


def document(
    plan: Plan,
    results: Results,
    found: Sequence[Relation],
    thresholds: Mapping[Row, Sequence[float]],
    sites: str,
    artefacts: Sequence[Artefact] = (),
) -> str:
    """The page down to the part that is written by hand.

    Args:
        sites: Tables 4 and 5, or nothing where they were not run.
        artefacts: built from the members that are judged here.
    """
    splits = ", ".join(f"{name} {len(plan.entries(name))}" for name in ("train", *SPLITS))
    whole = ", ".join(f"{name} {count}" for name, count in CANONICAL_COUNTS.items())
    lines = [
        "# Lesions: the tables of the paper on simulated sites",
        "",
        "Written by `python -m benchmarks.lesion_tables` down to the discussion. Scans are simulated "
        "([datasheet](../datasheets/lesion-simulator.md)), networks are small and trained for minutes, so numbers are "
        "compared with Shifts 2.0 (section 3, appendix C) in their relations, not digit by digit.",
        "",
        f"- Scans: seed {plan.seed}: {splits} (canonical: {whole}), {plan.calibration} more in-domain for the deferral "
        f"threshold. In-domain sites are {', '.join(INSIDE)}; dev_out is site_e, eval_out {LAST}. FLAIR only.",
        f"- Networks: {_networks(plan)}",
        "- As released: windows of 96 voxels, 25 % overlap, Gaussian weights over logits, sigmoid a member, mean, "
        "threshold, components of at most 9 voxels dropped. Thresholds maximise the mean nDSC of dev_in in steps of "
        "0.01, each single model has its own.",
        "- nDSC and DSC over the whole volume, lesion F1 from an IoU of 0.5, R-AUC (the area *above* the retention "
        "curve of nDSC, × 100) inside the brain mask: single models by entropy, ensembles by reverse mutual "
        "information. Means over scans; ± is one standard deviation over the single models (MCDP: over the networks).",
        f"- {machine.line()}.",
        "",
        *([built(artefacts), ""] if artefacts else []),
        "Thresholds: " + "; ".join(f"{title(row)} {_levels(levels)}" for row, levels in thresholds.items()) + ".",
        "",
        "## Table 2: nDSC and R-AUC",
        "",
        table_2(results),
        "",
        "## Table 8: DSC, nDSC and their correlation with lesion load, UNET ensemble",
        "",
        table_8(results),
        "",
        "## Table 9: nDSC (%)",
        "",
        per_split(results, "ndsc"),
        "",
        "## Table 10: lesion F1 (%)",
        "",
        per_split(results, "lesion_f1"),
        "",
        "## Table 11: R-AUC (%)",
        "",
        per_split(results, None),
        "",
        "The same areas by each measure, deep ensembles and MCDP:",
        "",
        measures(results),
        "",
        *([sites, ""] if sites else []),
        "## Pictures",
        "",
        *(line for file, words in FIGURES for line in (f"![{words}]({file})", "")),
        "## Relations that the paper reports",
        "",
        relations.table(found),
    ]
    return "\n".join(lines) + "\n"


def built(artefacts: Sequence[Artefact]) -> str:
    """Name artefacts and the digests of their weights."""
    return (
        "Artefacts of the deep ensembles, built from these members by `python -m benchmarks.lesion_reference`: "
        f"{', '.join(map(weights.named, artefacts))}; in brackets the first digits of the sha256 of the lines that "
        "`sha256sum` prints of their graphs (`sha256sum member-*.onnx | sha256sum`)."
    )


def table_2(results: Results) -> str:
    """Both figures side by side, without deviations."""
    heads = [f"{figure} {TITLES[split]}" for figure in ("nDSC", "R-AUC") for split in SPLITS]
    lines = _heading(("type", "model", *heads))
    for kind, rows in TABLE_2:
        for row in rows:
            name = row.architecture + "-DP" * (row.dropout != "0.0")
            cells = [results.mean(row, split, figure) for figure in ("ndsc", row.r_auc) for split in SPLITS]
            lines.append(_line((kind, name, *(f"{100 * cell:.2f}" for cell in cells))))
    return "\n".join(lines)


def per_split(results: Results, figure: str | None) -> str:
    """One figure, rows as in Tables 9 to 11; None: the row's own R-AUC."""
    lines = _heading(("arch", "DP", "model", *TITLES.values()))
    for row in ROWS:
        cells = [spread(results.means(row, split, figure or row.r_auc)) for split in SPLITS]
        lines.append(_line((row.architecture, row.dropout, row.kind, *cells)))
    return "\n".join(lines)


def measures(results: Results) -> str:
    """R-AUC of ensembles by measure."""
    lines = _heading(("model", "measure", *TITLES.values()))
    for row in ROWS:
        if row.kind != SINGLE:
            for measure in MEASURES:
                cells = [spread(results.means(row, split, f"r_aac_{measure}")) for split in SPLITS]
                lines.append(_line((title(row), measure, *cells)))
    return "\n".join(lines)


def table_8(results: Results) -> str:
    """Mean scores and correlations."""
    heads = ("DSC", "nDSC", "Pearson DSC", "Pearson nDSC", "Spearman DSC", "Spearman nDSC", "mean load (%)")
    lines = _heading(("split", *heads))
    for split in SPLITS:
        dice, ndsc = (results.figure(UNET_ENSEMBLE, split, name)[0] for name in ("dice", "ndsc"))
        load = results.load(split)
        with_dice, with_ndsc = correlation(load, dice), correlation(load, ndsc)
        cells = (
            f"{100 * dice.mean():.2f}",
            f"{100 * ndsc.mean():.2f}",
            *(
                f"{value:.2f}"
                for value in (with_dice.pearson, with_ndsc.pearson, with_dice.spearman, with_ndsc.spearman)
            ),
            f"{100 * load.mean():.3f}",
        )
        lines.append(_line((TITLES[split], *cells)))
    return "\n".join(lines)


def sites(plan: Plan, crossed: Crossed, excluded: Sequence[Excluded]) -> str:
    """Tables 4 and 5, with what they were made of."""
    return "\n".join(
        [
            "## Table 4: trained on one site, tested on each (nDSC, %)",
            "",
            f"Smaller than the main tables: U-Nets of {plan.site_channels} channels, {plan.site_members} members a "
            f"training set, {plan.site_steps} steps, {plan.site_tests} test scans a site, and {plan.site_train} of its "
            "training scans beside its development scans for the second way of choosing thresholds. All six sites "
            "train; the paper's Lausanne did not.",
            "",
            table_4(crossed),
            "",
            "Thresholds of the first way: "
            + ", ".join(f"{site} {level:.2f}" for site, level in zip(SITES, crossed.own, strict=True))
            + ".",
            "",
            "## Table 5: trained on all sites but one and site_f (%)",
            "",
            "The same networks and scans; thresholds by the development scans of the sites trained on. *Out* is the "
            f"test scans and {plan.site_train} training scans of the site left out.",
            "",
            table_5(excluded),
        ]
    )


def table_4(crossed: Crossed) -> str:
    """Ways of choosing thresholds, training sites, test sites."""
    lines = _heading(("thresholding", "train", *SITES))
    for way, values in crossed.ndsc.items():
        for site, row in zip(SITES, values, strict=True):
            lines.append(_line((way, site, *(f"{100 * value:.2f}" for value in row))))
    return "\n".join(lines)


def table_5(excluded: Sequence[Excluded]) -> str:
    """Single models and ensembles by excluded site."""
    parts = ("in", "out", LAST)
    lines = _heading(("excluded", "model", *(f"nDSC {part}" for part in parts), *(f"R-AUC {part}" for part in parts)))
    for one in excluded:
        cells = [spread(figure[part]) for figure in (one.ndsc, one.r_auc) for part in parts]
        lines.append(_line((one.site, one.kind, *cells)))
    return "\n".join(lines)


def title(row: Row) -> str:
    """A row in one name."""
    return f"{row.architecture} {'DP ' * (row.dropout != '0.0')}{row.kind}"


def spread(values: NDArray[np.float64]) -> str:
    """Mean ± standard deviation (ddof 0) in per cent; the value alone of one model."""
    mean = f"{100 * values.mean():.2f}"
    return mean if len(values) == 1 else f"{mean} ± {100 * values.std():.2f}"


def _networks(plan: Plan) -> str:
    settings = {family: plan.settings(family) for family in ("unet", "unetr")}
    words = {
        family: ", then ".join(f"{stage.steps} steps of {stage.batch} × {stage.edge}³" for stage in one.stages)
        for family, one in settings.items()
    }
    return (
        f"{plan.members} seeds of each; U-Net {settings['unet'].sizes}, {words['unet']}; with and without 50 % dropout "
        f"of channels; UNETR {settings['unetr'].sizes}, {words['unetr']}. The paper trains up to 300 epochs."
    )


def _levels(levels: Sequence[float]) -> str:
    return ", ".join(f"{level:.2f}" for level in levels)


def _heading(cells: Sequence[str]) -> list[str]:
    return [_line(cells), "|---" * len(cells) + "|"]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
