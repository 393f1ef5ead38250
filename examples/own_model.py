"""Train a model of house prices with LightGBM, and write it with labelled rows that it has not seen.

The houses are made here, with known laws: a price depends on income, rooms, age, distance to the coast and town, and
its scatter grows with income and near the coast.

    python examples/own_model.py [--out DIR]

writes ``houses.txt`` (the model, in LightGBM's own form), ``labelled.parquet`` (4,000 rows for calibration) and
``new.csv`` (2,000 rows that neither has seen).
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from lightgbm import LGBMRegressor

TOWNS = ("fern", "harbour", "lakeside", "mill", "orchard")


def houses(count: int, seed: int) -> pd.DataFrame:
    """Return houses with their price, in thousands."""
    random = np.random.default_rng(seed)
    town = random.choice(len(TOWNS), count, p=(0.3, 0.1, 0.2, 0.25, 0.15))
    frame = pd.DataFrame(
        {
            "income": random.gamma(4.0, 12.0, count),  # of the household, thousands a year
            "rooms": random.poisson(3.5, count) + 1,
            "age": random.uniform(0, 80, count),  # years
            "coast_km": random.exponential(20.0, count),
            "town": pd.Categorical(np.array(TOWNS)[town], categories=TOWNS),
        }
    )
    near = np.exp(-frame.coast_km / 15)
    centre = 40 + 2.5 * frame.income + 18 * frame.rooms - 0.5 * frame.age + 120 * near + 15 * town
    scatter = 8 + 0.25 * frame.income + 60 * near
    return frame.assign(price=centre + scatter * random.normal(size=count))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path(), help="folder for the three files")
    folder = parser.parse_args().out
    training = houses(20_000, seed=1)
    model = LGBMRegressor(n_estimators=300, verbose=-1, random_state=1)
    model.fit(training.drop(columns="price"), training.price)
    model.booster_.save_model(folder / "houses.txt")
    houses(4000, seed=2).to_parquet(folder / "labelled.parquet", index=False)
    houses(2000, seed=3).to_csv(folder / "new.csv", index=False)
    print("houses.txt: the model; labelled.parquet: rows to calibrate with; new.csv: rows to ask about")


if __name__ == "__main__":
    main()
