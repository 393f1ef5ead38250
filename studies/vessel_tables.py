"""Tables 3, 19 and 20 of Shifts 2.0 (synthetic part) and the retention figure, for our artefacts.

    python -m studies.vessel_tables [--generalisation-rows 2500000]

Reads artefacts/vessel, simulates the canonical data again and writes docs/quality/vessel.md and
docs/quality/vessel-retention.png. Takes some minutes and about 2 GB of memory.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from matplotlib.figure import Figure
from onnx import numpy_helper

from benchmarks import machine
from models import artefact as artefacts
from models.artefact import Artefact
from models.assessment import errors, retention
from models.assessment.errors import rmse
from models.tasks.vessel import tables
from simulators.vessel.dataset import Table, generalisation, simulate
from simulators.vessel.vessel import Vessel
from studies import pages, statements, vessel_relations
from studies.vessel_simulated import noise_of_labels

NAMES = {"mc_dropout": "10x10", "variational": "10x10", "dnn": "10", "symbolic": "10"}
SEED, GENERALISATION_SEED = 0, 1
HIDDEN = (50, 20)
"""Shape of the weights between the hidden layers."""
ERRORS = (
    ("rmse_kw", "RMSE", 1.0, ".0f"),
    ("mae_kw", "MAE", 1.0, ".0f"),
    ("mape_percent", "MAPE", 1.0, ".2f"),
)
RETENTION = (
    ("r_auc_kw2", "R-AUC", 1e5, ".2f"),
    ("f1_auc", "F1-AUC", 1.0, ".3f"),
    ("f1_at_95", "F1@95", 0.01, ".1f"),
)
Curves = dict[tuple[str, str], Any]


def main() -> None:
    parser = pages.parser("vessel_tables", __doc__, out=pages.QUALITY)
    parser.add_argument("--generalisation-rows", type=int, default=2_500_000)
    parser.add_argument("--artefacts", type=Path, default=pages.ARTEFACTS / "vessel")
    options = parser.parse_args()
    splits = simulate(1.0, SEED)
    data = {name: rows for name, rows in splits.items() if name != "train"}
    data["gen"] = generalisation(options.generalisation_rows, GENERALISATION_SEED)
    curves: Curves = {}
    results, tags = [], []
    for family, count in NAMES.items():
        artefact = artefacts.read(options.artefacts / f"{family}-{count}", task="vessel")
        tags.append(artefact)
        results.append(
            tables.judge(
                artefact,
                data,
                progress=lambda name, family=family: print(family, name, flush=True),
                keep=_keeper(family, curves),
            )
        )
    draw(curves, options.out / "vessel-retention.png")
    sizes = {name: len(table) for name, table in data.items()}
    surroundings = limits(splits["train"], data["eval_in"], data["gen"], tags)
    pages.write(options.out / "vessel.md", document(results, tags, sizes, surroundings))
    statements.report(vessel_relations.relations(results))


def _keeper(family: str, curves: Curves) -> Callable[[str, tables.Predicted, Any], None]:
    def keep(name: str, both: tables.Predicted, target: Any) -> None:
        if name not in ("eval_full", "gen"):
            return
        squared = errors.squared_error(target, both[0].mean)
        curves[family, name] = _thin(retention.error_curve(squared, both[0].tvar, group_ties=False))
        if family == "dnn":
            curves["optimal", name] = _thin(retention.optimal_curve(squared))
            curves["random", name] = _thin(retention.random_curve(squared))

    return keep


def _thin(curve: Any, points: int = 200) -> Any:
    return curve[np.linspace(0, len(curve) - 1, points + 1).astype(int)]


def draw(curves: Curves, path: Path) -> None:
    """Draw retention curves of the four ensembles, as in figure 14 of the paper."""
    figure = Figure(figsize=(10, 4), layout="constrained")
    axes = figure.subplots(1, 2)
    for axis, (name, title) in zip(
        axes, (("eval_full", "eval, in and out"), ("gen", "generalisation set")), strict=True
    ):
        for (kind, data), curve in curves.items():
            if data == name:
                style = {"optimal": ":", "random": "--"}.get(kind, "-")
                label = tables.LABELS.get(kind, f"{kind} (DNN)")
                axis.plot(np.linspace(0, 1, len(curve)), curve / 1e6, style, label=label, linewidth=1.4)
        axis.set(title=title, xlabel="retention", ylabel="squared error, MW²", xlim=(0, 1), ylim=(0, None))
        axis.legend(frameon=False)
        axis.grid(alpha=0.3)
    pages.save(figure, path)


def limits(train: Table, in_domain: Table, box: Table, tags: Sequence[Artefact]) -> str:
    """Return figures of data and weights for the discussion of the tables, as Markdown.

    Args:
        train: training rows of the models.
        in_domain: rows of eval_in with the simulator's power before noise.
        box: the generalisation set.
        tags: artefacts, including that of variational inference.
    """
    simulated = rmse(in_domain.power, Vessel().shaft_power(in_domain.features))
    largest = [table.power.max() / 1e3 for table in (train, box)]
    rows = [
        ("noise of labels on eval_in, root mean square, kW", f"{noise_of_labels(in_domain):.0f}"),
        ("RMSE of the simulator itself on eval_in, from the noisy features that models see, kW", f"{simulated:.0f}"),
        ("largest power in train, MW", f"{largest[0]:.1f}"),
        ("largest power in the generalisation set, MW", f"{largest[1]:.1f}"),
        (
            "VI: standard deviation of a weight between the hidden layers over the frozen samples of a network, median",
            f"{posterior_width(next(tagged for tagged in tags if 'variational' in tagged.directory.name)):.4f}",
        ),
    ]
    return pages.table(("figure", "value"), rows)


def posterior_width(artefact: Artefact) -> float:
    """Return the median, over weights and networks, of a weight's standard deviation over a network's samples."""
    manifest = artefact.manifest
    sampled = manifest.members * manifest.samples
    tensors = onnx.load_from_string(artefact.path(manifest.executor.file).read_bytes()).graph.initializer
    (hidden,) = (numpy_helper.to_array(tensor) for tensor in tensors if tuple(tensor.dims) == (sampled, *HIDDEN))
    draws = hidden.reshape(manifest.members, manifest.samples, -1)
    return float(np.median(draws.std(axis=1, ddof=1)))


def _trained(artefact: Artefact) -> str:
    """Return the numbers of training rows as text."""
    rows = {source.role: source.rows for source in artefact.manifest.sources}
    slow = rows.get("training at low speed")
    return f"{rows['training']} rows" + (f" and {slow} of low speed" if slow else "")


def document(results: Any, tags: Any, sizes: dict[str, int], surroundings: str) -> str:
    """Return the page above the hand-written part.

    Args:
        surroundings: table of ``limits``.
    """
    training = tags[0].manifest.training
    parts = [("Table 3: overview", tables.table_3(results))]
    for number, title, columns in (
        (19, "predictive performance", ERRORS),
        (20, "retention performance", RETENTION),
    ):
        for split in ("dev", "eval"):
            parts.append((f"Table {number}, {split}: {title}", tables.table(results, columns, split)))
    return pages.document(
        "# Vessel power: quality of the reference artefacts",
        f"{pages.written_by('vessel_tables')} Numbers are for simulated data, so "
        "they are compared with the synthetic part of Shifts 2.0 in their relations, not digit by digit: the paper's "
        "ship and its physics model are not public.",
        pages.bullets(
            f"Data: simulator of this repository, seed {SEED}, scale 1: train {_trained(tags[0])}, "
            + ", ".join(f"{name} {rows}" for name, rows in sizes.items() if name != "gen")
            + f"; generalisation set of {sizes['gen']} rows, seed {GENERALISATION_SEED} "
            "(label noise, no feature noise).",
            f"Training: preset `fast` ({training['epochs']} epochs, {training['batch']} rows a member, "
            f"Adam {training['rate']:g} with cosine schedule), ten members at once, seed {training['seed']}, "
            "one thread of two cores of an Intel Xeon (model 167 by the benchmark results of that day) without a GPU.",
            "Single rows: mean ± standard deviation over the ten members of the ensemble, each judged alone. "
            "Sampled families take ten frozen samples a member: their *deep ensemble* has 100 predictors.",
            "R-AUC in 10^5 kW² (trapezoid), F1@95 in %, MAPE in %, the rest in kW; uncertainty is the total "
            "variance, a squared error up to 500² kW² is acceptable.",
            f"Judged on {machine.line()}.",
        ),
        f"Artefacts, and the first digits of the sha256 of their weights: {', '.join(map(pages.named, tags))}.",
        *(block for title, text in parts for block in (f"## {title}", text)),
        "## Retention curves",
        pages.picture("Squared error against retention", "vessel-retention.png"),
        "## Relations that the paper reports",
        "All statements of Shifts 2.0 (section 4, appendix D.4) on synthetic data that these tables allow to check; "
        "each holds on the paper's own printed numbers, and equal numbers do not contradict. The figure of a single "
        "model is the mean over members. What the paper says of real data (Tables 21 and 22), of real beside "
        "synthetic data (Figure 4, but for the growth of errors on the generalisation set), and of the best overall "
        "balance cannot be checked here.",
        statements.table(vessel_relations.relations(results)),
        "### Statements that the paper's own tables contradict",
        "The text says so; Tables 19 and 20 have at least one number against it.",
        statements.table(vessel_relations.unsupported(results)),
        "### Relations of our own",
        "Not in the paper.",
        statements.table(vessel_relations.own(results)),
        "## Noise, powers and weights",
        "What the discussion reads the tables by.",
        surroundings,
    )


if __name__ == "__main__":
    main()
