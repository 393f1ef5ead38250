"""What the paper's text says of its tables, each statement checked on ours."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from benchmarks.lesion_tables.across import WAYS, Crossed, Excluded
from benchmarks.lesion_tables.canonical import (
    DROPOUT,
    DROPOUT_MCDP,
    ROWS,
    UNET,
    UNET_ENSEMBLE,
    UNETR,
    UNETR_ENSEMBLE,
    Results,
    Row,
    correlation,
)
from benchmarks.lesion_tables.plan import LAST, SITES, SPLITS, TABLE_5
from benchmarks.relations import Pair, Relation, check, percent, percent_lower
from models.assessment.segmentation_retention import voxel_r_aac

SHIFTED = {"dev_in": "dev_out", "eval_in": "eval_out"}
PAPER = ROWS[:-1]
ENSEMBLES = ((UNET, UNET_ENSEMBLE), (UNETR, UNETR_ENSEMBLE))
DROP = 0.10
"""nDSC and F1 lost by shift, at least: "drops exceeding 10 %" (with dropout the paper's own tables have less)."""
ALIKE = 0.05
FAR = 0.5
"""An order "substantially outperforms" a random one if it leaves at most this share of its area."""


def canonical(results: Results) -> list[Relation]:
    """Of Tables 2, 8, 9, 10 and 11, and Figure 9."""

    def better(first: Row, second: Row, name: str, splits: Sequence[str] = SPLITS) -> list[Pair]:
        return [Pair(split, results.mean(first, split, name), results.mean(second, split, name)) for split in splits]

    def areas(first: Row, second: Row, splits: Sequence[str] = SPLITS) -> list[Pair]:
        """The first has the smaller area."""
        return [
            Pair(
                split,
                results.mean(second, split, results.r_auc(second)),
                results.mean(first, split, results.r_auc(first)),
            )
            for split in splits
        ]

    found = [
        check(
            f"Shift takes more than 10 points of {title} of models without dropout",
            [
                Pair(
                    f"{row.architecture} {row.kind}, {inside} to {outside}",
                    results.mean(row, inside, name) - results.mean(row, outside, name),
                    DROP,
                )
                for row in PAPER
                if row.dropout == UNET.dropout
                for inside, outside in SHIFTED.items()
            ],
            lambda pair: f"{pair.name} {100 * pair.larger:.1f}",
        )
        for name, title in (("ndsc", "nDSC"), ("lesion_f1", "lesion F1"))
    ]
    for single, ensemble in ENSEMBLES:
        for name, title in (("ndsc", "nDSC"), ("lesion_f1", "lesion F1")):
            statement = f"The {ensemble.architecture} deep ensemble is better than its single models in {title}"
            found.append(check(statement, better(ensemble, single, name)))
        statement = f"The {ensemble.architecture} deep ensemble is better than its single models in R-AUC"
        found.append(check(statement, areas(ensemble, single), percent_lower))
    for name, title in (("ndsc", "nDSC"), ("lesion_f1", "lesion F1")):
        pairs = better(UNETR, UNET, name) + better(UNETR_ENSEMBLE, UNET_ENSEMBLE, name)
        found.append(check(f"UNETR is better than UNET in {title}, single and as an ensemble", pairs))
        statement = f"Dropout in training costs the single UNET {title}"
        found.append(check(statement, better(UNET, DROPOUT, name)))
    gains = [
        Pair(
            split,
            results.mean(UNETR_ENSEMBLE, split, "ndsc") - results.mean(UNETR, split, "ndsc"),
            results.mean(UNET_ENSEMBLE, split, "ndsc") - results.mean(UNET, split, "ndsc"),
        )
        for split in SHIFTED.values()
    ]
    found.append(check("On shifted data UNETR gains more nDSC from ensembling than UNET", gains))
    found.append(
        check(
            f"Shift costs single UNETR as much nDSC as single UNET, to {100 * ALIKE:.0f} points",
            [
                Pair(f"{inside} to {outside}", ALIKE, abs(_lost(results, UNETR, inside) - _lost(results, UNET, inside)))
                for inside, outside in SHIFTED.items()
            ],
            lambda pair: f"{pair.name} {100 * pair.smaller:.1f} apart",
        )
    )
    found.append(
        check(
            "MCDP lowers nDSC against the same models with dropout off (all but dev_in)",
            better(DROPOUT, DROPOUT_MCDP, "ndsc", SPLITS[1:]),
        )
    )
    found.append(
        check(
            "MCDP is better in R-AUC than the same models with dropout off", areas(DROPOUT_MCDP, DROPOUT), percent_lower
        )
    )
    best = [
        Pair(
            f"{split}, {row.architecture} {row.dropout} {row.kind}",
            results.mean(row, split, results.r_auc(row)),
            results.mean(UNETR_ENSEMBLE, split, results.r_auc(UNETR_ENSEMBLE)),
        )
        for split in SPLITS
        for row in PAPER
        if row != UNETR_ENSEMBLE
    ]
    found.append(check("The UNETR deep ensemble has the best R-AUC of all (of the paper's rows)", best, percent_lower))
    found.append(_correlations(results))
    found.append(_retention(results))
    return found


def _lost(results: Results, row: Row, inside: str) -> float:
    return results.mean(row, inside, "ndsc") - results.mean(row, SHIFTED[inside], "ndsc")


def _correlations(results: Results) -> Relation:
    pairs = []
    for split in SPLITS:
        load = results.load(split)
        dice, ndsc = (
            abs(correlation(load, results.figure(UNET_ENSEMBLE, split, name)[0]).pearson) for name in ("dice", "ndsc")
        )
        pairs.append(Pair(split, dice, ndsc))
    return check(
        "nDSC is less correlated with lesion load than DSC (|Pearson|, UNET ensemble)",
        pairs,
        lambda pair: f"{pair.name} {pair.smaller:.2f} against {pair.larger:.2f}",
    )


def _retention(results: Results) -> Relation:
    pairs = []
    for row in (UNET, UNET_ENSEMBLE, UNETR, UNETR_ENSEMBLE):
        measure = results.r_auc(row).removeprefix("r_aac_")
        for split in SPLITS:
            random, _ = results.bounds(row, split)
            area = voxel_r_aac(results.curve(row, split, measure))
            pairs.append(Pair(f"{row.architecture} {row.kind} {split}", FAR * voxel_r_aac(random), area))
    return check(
        f"Every order leaves less than {FAR:.0%} of the area that a random one leaves (Figure 9)",
        pairs,
        lambda pair: f"{pair.name} {100 * pair.smaller:.2f} of {100 * pair.larger / FAR:.2f}",
    )


def across(crossed: Crossed, excluded: Sequence[Excluded]) -> list[Relation]:
    """Of Tables 4 and 5."""
    shifted = [SITES.index("site_e"), SITES.index(LAST)]
    inside = [place for place in range(len(SITES)) if place not in shifted]
    found = [
        check(
            "Thresholds chosen on the training site's own development scans lose nDSC elsewhere (means of other sites)",
            [
                Pair(f"{way}", _off_diagonal(crossed.ndsc[way]), _off_diagonal(crossed.ndsc[WAYS[0]]))
                for way in WAYS[1:]
            ],
        ),
        check(
            "Models trained on an in-domain site do worse on site_e than on any other in-domain site",
            [
                Pair(
                    f"{SITES[row]} on {SITES[column]}",
                    crossed.ndsc[WAYS[0]][row, column],
                    crossed.ndsc[WAYS[0]][row, 4],
                )
                for row in inside
                for column in inside
                if row != column
            ],
        ),
    ]
    ensembles = {one.site: one for one in excluded if one.kind == "Ensemble"}
    singles = {one.site: one for one in excluded if one.kind == "Single"}
    lost = {site: float((one.ndsc["in"] - one.ndsc["out"]).mean()) for site, one in ensembles.items()}
    found.append(
        check(
            "Leaving out site_e costs most nDSC against in-domain tests, so that it makes the shifted development set",
            [Pair(f"site_e against {site}", lost["site_e"], lost[site]) for site in TABLE_5 if site != "site_e"],
        )
    )
    shows: tuple[tuple[str, int, Callable[[Pair], str]], ...] = (("nDSC", 1, percent), ("R-AUC", -1, percent_lower))
    for figure, sign, show in shows:
        pairs = []
        for site, ensemble in ensembles.items():
            for part in ("in", "out", LAST):
                one, other = (
                    float((each.ndsc if sign > 0 else each.r_auc)[part].mean()) for each in (ensemble, singles[site])
                )
                first, second = (one, other) if sign > 0 else (other, one)
                pairs.append(Pair(f"without {site}, {part}", first, second))
        found.append(check(f"With one site left out, ensembles are better than single models in {figure}", pairs, show))
    return found


def _off_diagonal(values: np.ndarray) -> float:
    """Mean over training and test sites that differ."""
    return float(values[~np.eye(len(values), dtype=bool)].mean())
