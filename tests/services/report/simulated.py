"""UnitErrors files made up of a simulated regression ensemble and its members, in two domains."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from models.evaluation.compare import FIGURES, Comparison, Interval
from models.evaluation.evaluate import Evaluation, evaluate
from models.evaluation.unit_errors import ErrorColumn, Normals, UnitErrors

UNIT = "°C²"


def regression(
    source: str = "runs/ensemble.npz", *, n: int = 4000, members: int = 5, seed: int = 1, domains: bool = True,
    acceptable: float | None = 1.0, normals: bool = True, skill: float = 1.0,
) -> UnitErrors:  # fmt: skip
    """An ensemble of temperatures: heteroscedastic noise, members that part where data have shifted."""
    draw = np.random.default_rng(7)  # the same world for all files
    shifted = np.arange(n) >= n // 2
    noise = np.exp(draw.normal(-0.6, 0.5, n)) * np.where(shifted, 1.5, 1.0)
    spread = np.exp(draw.normal(-1.4, 0.6, n)) * np.where(shifted, 2.2, 1.0)
    target = draw.normal(9, 8, n)
    common = draw.normal(0, 1, n) * spread
    own = np.random.default_rng(seed)
    mean = target + noise * draw.normal(0, 1, n) + common + spread * own.normal(0, 0.8, (members, n))
    variance = (skill * noise**2 + (1 - skill)) * np.exp(own.normal(-0.15, 0.25, (members, n)))
    climates = np.array(["mild", "dry", "snow", "polar"])[(np.arange(n) * 7) % 2 + 2 * shifted]
    ensemble = _judged(source, mean, variance, target, shifted if domains else None, acceptable, normals, climates)

    def singles() -> Iterator[UnitErrors]:
        for row in range(members):
            yield _judged(
                f"{source}[{row}]", mean[[row]], variance[[row]], target, shifted if domains else None, acceptable,
                False, climates,
            )  # fmt: skip

    if members < 2:
        return ensemble
    return UnitErrors(**{**vars(ensemble), "singles": singles})


def compared(files: list[Evaluation]) -> Comparison:
    """Made-up intervals around the true differences."""
    first = files[0].full.headline
    differences: dict[str, dict[str, Interval]] = {}
    for place, file in enumerate(files[1:]):
        row = {}
        for name in FIGURES:
            change = getattr(file.full.headline, name) - getattr(first, name)
            width = 0.4 * abs(change) + (0.3 * abs(change) if place else 0.9 * abs(change)) + 1e-4
            row[name] = Interval(change, change - width, change + width)
        differences[file.judged.source] = row
    return Comparison(files[0].judged.source, 0.95, 1000, differences)


def three_files() -> tuple[list[Evaluation], Comparison]:
    """An ensemble, a worse one and one member alone."""
    files = [
        evaluate(regression(), ("climate",)),
        evaluate(regression("runs/small-ensemble.npz", members=2, seed=3), ("climate",)),
        evaluate(regression("runs/single.npz", members=1, seed=4, skill=0.4), ("climate",)),
    ]
    return files, compared(files)


def constant(**changes: Any) -> UnitErrors:
    """Fifty units of error 2 in a file of any origin, with changes."""
    plain = {
        "task": "generic",
        "source": "constant.csv",
        "errors": {"error": ErrorColumn(np.full(50, 2.0), "the unit of the file", 3.0)},
        "measures": {"uncertainty": np.arange(50.0)},
    }
    return UnitErrors(**{**plain, **changes})


def _judged(
    source: str,
    mean: Any,
    variance: Any,
    target: Any,
    shifted: Any,
    acceptable: float | None,
    normals: bool,
    climates: Any,
) -> UnitErrors:
    mvar, varm, centre = variance.mean(0), mean.var(0), mean.mean(0)
    squared = (centre - target) ** 2
    measures = {"tvar": mvar + varm, "mvar": mvar}
    if len(mean) > 1:
        measures["varm"] = varm
    measures["ll_fu"] = squared / (2 * mvar) + np.maximum(0, 0.5 * np.log(2 * np.pi * mvar))

    def own(mask: Any) -> dict[str, float]:
        part = slice(None) if mask is None else mask
        return {
            "rmse": float(np.sqrt(squared[part].mean())),
            "mae": float(np.abs(centre - target)[part].mean()),
        }

    return UnitErrors(
        task="regression",
        source=source,
        errors={
            "squared_error": ErrorColumn(squared, UNIT, acceptable),
            "absolute_error": ErrorColumn(np.abs(centre - target), "°C", None),
        },
        measures=measures,
        diagnostics=frozenset({"ll_fu"}),
        shifted=shifted,
        groups={"climate": climates},
        own=own,
        own_units={"rmse": "°C", "mae": "°C"},
        normals=Normals(centre, mvar + varm, target, "°C") if normals else None,
        members=len(mean),
        notes=("12 units had no target and were left out",),
    )
