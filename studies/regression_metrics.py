"""Tables 1 to 4 and the figures of the note on regression metrics, for our vessel ensemble on simulated data.

    python -m studies.regression_metrics

Reads artefacts/vessel/dnn-10, simulates the canonical evaluation data again and writes
docs/quality/regression-metrics.md and its figure. Takes a minute.
"""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from benchmarks import machine
from models import artefact as artefacts
from models.assessment import regression_calibration as calibration
from models.assessment import retention
from models.assessment.convention import CONVENTIONS
from models.assessment.figures import Figures
from models.evaluation.evaluate import Evaluation, evaluate, select
from models.evaluation.unit_errors import ErrorOptions, UnitErrors
from models.executors.onnx import OnnxGraph
from models.tasks.vessel.data import predictions
from models.tasks.vessel.inference.scoring import predict_members, rows_per_pass
from simulators.vessel.dataset import simulate
from studies import pages, regression_relations, statements
from studies.regression_relations import LABELS, UNITS, Results

SEED = 0
CALIBRATION = ("ence", "cv", "lence", "r3", "ence_tvar")
MEASURES = ("mvar", "tvar", "varm", "epkl", "ll_fu")
FRACTIONS = calibration.FRACTIONS
GROUPS = 10
"""Number of groups of shifted rows, by error, whose smallest value of each measure is reported."""
COLOURS = {"ensemble": "#0072b2", "single": "#d55e00"}


def main() -> None:
    out = pages.parser("regression_metrics", __doc__, out=pages.QUALITY).parse_args().out
    artefact = artefacts.read(pages.ARTEFACTS / "vessel" / "dnn-10", task="vessel")
    data = simulate(1.0, SEED)
    parts = [data["eval_in"], data["eval_out"]]
    rows = np.concatenate([part.features for part in parts])
    graph = OnnxGraph(artefact.path(artefact.manifest.executor.file))
    mean, variance = predict_members(graph, rows, rows_per_pass(artefact.manifest.members))
    arrays = {
        "members": np.stack([mean, variance], axis=2),
        "target": np.concatenate([part.power for part in parts]),
        "shifted": np.repeat([0, 1], [len(part.power) for part in parts]),
    }
    evaluations: dict[str, dict[str, Evaluation]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for kind, kept in (("ensemble", slice(None)), ("single", slice(1))):
            path = Path(folder) / f"{kind}.npz"
            np.savez(path, **{**arrays, "members": arrays["members"][kept]})
            evaluations[kind] = {
                name: evaluate(predictions.read(path, ErrorOptions(convention)))
                for name, convention in CONVENTIONS.items()
            }
    draw(evaluations, out / "regression-metrics.png")
    page = out / "regression-metrics.md"
    pages.write(page, document(evaluations, pages.named(artefact), arrays["shifted"]))
    print(page.read_text())


def results(evaluations: dict[str, dict[str, Evaluation]]) -> Results:
    """Return the results on which the note's statements are checked."""
    curves: dict[str, dict[str, list[float]]] = {"r3": {}, "mwse": {}}
    for kind, readings in evaluations.items():
        judged = readings["paper"].judged
        assert judged.normals is not None
        squared, variance = judged.error.values, judged.normals.variance
        curves["r3"][kind] = _at_fractions(calibration.r3_curve(squared, variance))
        curves["mwse"][kind] = _at_fractions(calibration.mwse_curve(squared, variance) / 1e12)
    ensemble = evaluations["ensemble"]["paper"].judged
    shifted = _shifted(ensemble)
    by_error = np.array_split(np.argsort(ensemble.error.values[shifted], kind="stable"), GROUPS)
    return Results(
        {kind: readings["official"].full.own["lence"] for kind, readings in evaluations.items()},
        {
            (kind, convention, measure, figure): getattr(one.full.measures[measure], figure) / UNITS.get(figure, 1.0)
            for kind, readings in evaluations.items()
            for convention, one in readings.items()
            for measure in MEASURES
            if measure in one.full.measures
            for figure in LABELS
        },
        FRACTIONS,
        curves["r3"],
        curves["mwse"],
        {name: [float(ensemble.measures[name][shifted][rows].min()) for rows in by_error] for name in MEASURES},
    )


def _in_domain_r3(judged: UnitErrors) -> list[float]:
    assert judged.normals is not None
    kept = ~_shifted(judged)
    return _at_fractions(calibration.r3_curve(judged.error.values[kept], judged.normals.variance[kept]))


def _at_fractions(curve: Any) -> list[float]:
    return [float(value) for value in calibration.at_fractions(curve, FRACTIONS)]


def document(evaluations: dict[str, dict[str, Evaluation]], model: str, shifted: Any) -> str:
    """Return the page above the hand-written part."""
    checked = results(evaluations)
    readings = [
        (kind, convention, evaluation.full.measures)
        for kind, by in evaluations.items()
        for convention, evaluation in by.items()
    ]
    own = {kind: by["official"].full.own for kind, by in evaluations.items()}
    in_domain = {kind: _in_domain_r3(by["paper"].judged) for kind, by in evaluations.items()}
    curves = {"RMSE / RMV": checked.r3, "RMSE / RMV in-domain": in_domain, "MWSE, MW⁴": checked.mwse}
    return pages.document(
        "# Measures of regression uncertainty, on simulated data",
        f"{pages.written_by('regression_metrics')[:-1]}: the tables of the note on "
        "regression metrics for a power model instead of a temperature model, so that relations can be compared, "
        "not digits.",
        pages.bullets(
            f"Data: vessel simulator of this repository, seed {SEED}, scale 1: eval_in {int((shifted == 0).sum())} "
            f"rows, eval_out {int((shifted == 1).sum())} rows, taken together as the note takes its dev set.",
            f"Models: {model}, in brackets the first digits of the sha256 of its weights; *single* is its first "
            "member. Squared error in kW², acceptable up to 500² kW²; R-AUC in 10^5 kW² (trapezoid, as the released "
            "vessel code takes it).",
            "`official` is what released code computes, `paper` what the text says: base-10 against natural logarithm "
            "in LL-FU, pairwise cross-entropy against divergence in epkl, and the axes of F1. ENCE, Cv and LL-FU are "
            "about the mean of the members' variances, as released; the last column of table 1 is about the total "
            "variance.",
            f"Recorded on {machine.line()}.",
        ),
        "## Table 1: calibration",
        pages.table(
            ("model", "ENCE", "Cv", "LENCE", "RMSE / RMV", "ENCE of the total variance"),
            ((kind, *(_four(values.get(name)) for name in CALIBRATION)) for kind, values in own.items()),
        ),
        *(
            block
            for number, kind in ((2, "ensemble"), (3, "single"))
            for block in (
                f"## Table {number}: retention by measure, {kind}",
                pages.table(
                    ("figure", "convention", *MEASURES),
                    (
                        (figure, convention, *(_retention(measures.get(name), figure) for name in MEASURES))
                        for figure in LABELS
                        for one, convention, measures in readings
                        if one == kind
                    ),
                ),
            )
        ),
        "A single model has no `varm` and no `epkl`. `ll_fu` needs the label: nobody can defer by it.",
        "## Table 4: LL-FU",
        pages.table(
            ("model", "convention", *LABELS.values()),
            (
                (kind, convention, *(_retention(measures["ll_fu"], figure) for figure in LABELS))
                for kind, convention, measures in readings
            ),
        ),
        "## Figures",
        "LL-FU with the natural logarithm, as the note writes it (`paper`).",
        pages.picture("Curves of the note", "regression-metrics.png"),
        "Figure 1 in numbers:",
        pages.table(
            ("of the retained", *(f"{fraction:.0%}" for fraction in FRACTIONS)),
            (
                (f"{name}, {kind}", *map(_four, values))
                for name, curve in curves.items()
                for kind, values in curve.items()
            ),
        ),
        f"Figure 2 (a) in numbers: the smallest value of each measure of the ensemble among shifted rows, in {GROUPS} "
        "groups of equal number by error (kW² of mvar, tvar and varm; nats of epkl, `paper`, and of LL-FU):",
        pages.table(
            ("measure", *range(1, GROUPS + 1)),
            ((name, *(format(value, ".4g") for value in values)) for name, values in checked.least.items()),
        ),
        "## Relations that the note reports",
        "All statements of the note that these tables and figures allow to check; those of tables hold on the note's "
        "own printed numbers, and of figures it prints none. What it says of the inference from MWSE to robustness, "
        "and of ideal curves, cannot be checked.",
        statements.table([*regression_relations.printed(checked), *regression_relations.drawn(checked)]),
    )


def _four(value: float | None) -> str:
    return pages.NONE if value is None else f"{value:.4f}"


def _retention(figures: Figures | None, figure: str) -> str:
    """Return the cell of a figure in the unit of the tables."""
    return _four(None if figures is None else getattr(figures, figure) / UNITS.get(figure, 1.0))


def draw(evaluations: dict[str, dict[str, Evaluation]], path: Path) -> None:
    """Draw figure 1 (R3 and MWSE retention) and figure 2 (LL-FU against error, F1 and MSE retention) of the note."""
    figure = Figure(figsize=(13, 7.4), layout="constrained")
    axes = figure.subplots(2, 3)
    for kind, readings in evaluations.items():
        judged = readings["paper"].judged
        normals = judged.normals
        assert normals is not None
        squared = judged.error.values
        style: Any = {"color": COLOURS[kind], "label": kind, "linewidth": 1.5}
        for part, line in ((judged, "-"), (select(judged, ~_shifted(judged)), ":")):
            rows = part.error.values
            width = normals.variance if part is judged else normals.variance[~_shifted(judged)]
            curve = calibration.r3_curve(rows, width)
            name = kind if part is judged else f"{kind}, in-domain"
            axes[0, 0].plot(*pages.thinned(curve, 300, skip=len(curve) // 100), line, **{**style, "label": name})
        if kind == "ensemble":
            curve = calibration.r3_curve(squared, judged.measures["tvar"])
            dashed: Any = {**style, "label": "ensemble, total variance"}
            axes[0, 0].plot(*pages.thinned(curve, 300, skip=len(curve) // 100), "--", **dashed)
        axes[0, 1].plot(*pages.thinned(calibration.mwse_curve(squared, normals.variance) / 1e12, 300), **style)
        fisher = judged.measures["ll_fu"]
        limit = judged.error.acceptable or 0.0
        f1 = retention.f_curve(squared, fisher, limit, convention=judged.rules.convention)
        axes[1, 1].plot(*pages.thinned(f1, 300), **style)
        axes[1, 2].plot(*pages.thinned(retention.error_curve(squared, fisher) / 1e6, 300), **style)
    ensemble = evaluations["ensemble"]["paper"].judged
    shifted = _shifted(ensemble)
    pick = np.random.default_rng(0).permutation(len(shifted))[:4000]
    for mask, colour, name in ((~shifted, "#56b4e9", "in-domain"), (shifted, "#e69f00", "shifted")):
        chosen = pick[mask[pick]]
        distance = np.sqrt(ensemble.error.values[chosen]) / 1e3
        axes[1, 0].scatter(distance, ensemble.measures["ll_fu"][chosen], 4, colour, label=name, alpha=0.5)
    for measure, line in (("tvar", "-"), ("ll_fu", "--")):
        curve = retention.error_curve(ensemble.error.values, ensemble.measures[measure])
        axes[0, 2].plot(*pages.thinned(curve / 1e6, 300), line, color=COLOURS["ensemble"], label=f"ensemble, {measure}")
    axes[0, 2].plot(
        *pages.thinned(retention.random_curve(ensemble.error.values) / 1e6, 300), color="#999999", label="random"
    )
    axes[0, 0].axhline(1, color="#999999", linewidth=0.8)
    titles = [
        ("1 (a) RMSE / RMV of the retained", "retention", "RMSE / RMV"),
        ("1 (b) MWSE of the retained, of all", "retention", "MWSE, MW⁴"),
        ("MSE by a measure and by a diagnostic", "retention", "MSE, MW²"),
        ("2 (a) LL-FU against the error, ensemble", "absolute error, MW", "LL-FU, nats"),
        ("2 (b) F1 with LL-FU", "retention", "F1"),
        ("2 (c) MSE with LL-FU", "retention", "MSE, MW²"),
    ]
    for axis, (title, across, up) in zip(axes.flat, titles, strict=True):
        axis.set(title=title, xlabel=across, ylabel=up)
        axis.legend(frameon=False, fontsize=8)
        axis.grid(alpha=0.3)
    axes[1, 0].set_ylim(6.5, 18)
    axes[0, 0].set_ylim(0.95, 1.4)
    pages.save(figure, path)


def _shifted(judged: UnitErrors) -> Any:
    assert judged.shifted is not None
    return judged.shifted


if __name__ == "__main__":
    main()
