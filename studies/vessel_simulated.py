"""Numbers of the vessel simulator's data sheet: marginals, noise, and the errors of boosted trees.

    python -m studies.vessel_simulated [--scale 1] [--seed 1] [--seeds 12] [--generalisation-rows 2500000]

Prints marginals, the noise of labels and features, the errors of boosted trees, and the variation over seeds. Takes
some minutes and about 2 GB of memory.
"""

import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import version

import numpy as np
from numpy.typing import NDArray

from benchmarks import machine
from models.assessment.errors import rmse
from models.tasks.vessel.data.table import NAMES
from simulators.vessel.dataset import Noise, Table, generalisation, simulate
from simulators.vessel.vessel import Vessel
from studies import pages

SPEED, ACCELERATION = NAMES.index("stw"), NAMES.index("diff_speed_overground")
CLEAN_FEATURES = Noise(draft=0, stw=0, acceleration=0, wind_speed=0, current=0, wave=0)
"""Noise on labels only."""
PUBLIC = ("train", "dev_in", "dev_out")
"""Splits of the marginals: those of the public summary of the measured ship."""
TREES = {"iterations": 300, "depth": 8, "learning_rate": 0.1, "loss_function": "RMSE", "random_seed": 0}
SEEDS_SCALE = 0.05
"""Share of the rows used to compare seeds; all scales of a seed have the same voyages."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = pages.parser("vessel_simulated", __doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the canonical rows")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=12, help="how many to compare, from 0")
    parser.add_argument("--generalisation-rows", type=int, default=2_500_000)
    options = parser.parse_args(arguments)
    splits = simulate(options.scale, options.seed)
    clean = simulate(options.scale, options.seed, noise=CLEAN_FEATURES)
    box = generalisation(options.generalisation_rows, options.seed)
    say(marginals([splits[name] for name in PUBLIC]))
    say("\nRoot mean square, kW: of the noise of labels; of what noise of features changes in the power.")
    for name in ("dev_in", "eval_out"):
        changes = noise_of_features(clean[name], splits[name])
        parts = ", ".join(f"{part} {value:.0f}" for part, value in changes.items())
        say(f"{name}: labels {noise_of_labels(splits[name]):.0f}; features {parts}")
    say(f"\nRMSE of CatBoost {version('catboost')} ({TREES}) on {len(splits['train'])} rows, kW:")
    tests = {**{name: splits[name] for name in splits if name != "train"}, "generalisation": box}
    say(", ".join(f"{name} {error:.0f}" for name, error in trees(splits["train"], tests).items()))
    if options.seeds:
        means = np.array([seed_means(seed) for seed in range(options.seeds)])
        (power, speed), (most_power, most_speed) = means.min(axis=0), means.max(axis=0)
        say(
            f"\nMeans over {options.seeds} seeds: power {power / 1e3:.1f} to {most_power / 1e3:.1f} MW, "
            f"speed {speed:.1f} to {most_speed:.1f} kn"
        )
    say(machine.line())
    return 0


def marginals(tables: Sequence[Table]) -> str:
    """Return Markdown: mean, deviation and quantiles of each column over all rows of some splits."""
    columns = dict(zip(NAMES, np.concatenate([table.features for table in tables]).astype(np.float64).T, strict=True))
    columns["power"] = np.concatenate([table.power for table in tables])
    rows = []
    for name, values in columns.items():
        form = ",.0f" if values.max() > 1e4 else ".2f"
        figures = (values.mean(), values.std(), *np.quantile(values, (0, 0.25, 0.5, 0.75, 1)))
        rows.append((f"`{name}`", *(format(value, form) for value in figures)))
    return pages.table(("column", "mean", "sd", "min", "25 %", "50 %", "75 %", "max"), rows)


def noise_of_labels(table: Table) -> float:
    """Return the root mean square of the label noise, kW."""
    return rmse(table.power, _clean_power(table))


def noise_of_features(clean: Table, noisy: Table) -> dict[str, float]:
    """Return the root mean square change of the power, kW, due to the noise of features.

    The values are for all features, for speed and acceleration only, and for the others only.

    Args:
        clean: rows without noise of features.
        noisy: the same rows with sensor noise.
    """
    whole = np.arange(len(NAMES))
    motion = np.isin(whole, (SPEED, ACCELERATION))
    parts = {"all": whole >= 0, "speed and acceleration": motion, "the others": ~motion}
    power, vessel = _clean_power(clean), Vessel()
    return {
        name: rmse(power, vessel.shaft_power(np.where(columns, noisy.features, clean.features)))
        for name, columns in parts.items()
    }


def trees(train: Table, tests: Mapping[str, Table]) -> dict[str, float]:
    """Return the RMSE, kW, of boosted trees on each set."""
    from catboost import CatBoostRegressor

    model = CatBoostRegressor(**TREES, thread_count=1, verbose=0, allow_writing_files=False)
    model.fit(train.features, train.power)
    return {name: rmse(table.power, model.predict(table.features)) for name, table in tests.items()}


def seed_means(seed: int) -> tuple[float, float]:
    """Return mean power, kW, and mean speed through water, kn, over the public splits of a seed."""
    splits = simulate(SEEDS_SCALE, seed)
    power = np.concatenate([splits[name].power for name in PUBLIC])
    speed = np.concatenate([splits[name].features[:, SPEED] for name in PUBLIC])
    return float(power.mean()), float(speed.mean())


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _clean_power(table: Table) -> NDArray[np.float64]:
    assert table.clean_power is not None  # only files lack it
    return table.clean_power


if __name__ == "__main__":
    sys.exit(main())
