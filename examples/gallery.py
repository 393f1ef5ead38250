"""Build three models of tables on open data, each with held-out rows to judge it by.

    python examples/gallery.py diabetes|tumours|wines [--out DIR]

trains a model, builds a served artefact of it (``demur.build``), and writes ``NAME.csv``: rows that neither training
nor build has seen, with their labels. Then, for example:

    demur serve diabetes &
    demur score diabetes diabetes.csv scored.csv
    demur evaluate --task diabetes --predictions scored.csv --at 0.7 --report report

- diabetes: progression of diabetes after a year from ten measurements of 442 patients (Efron et al. 2004, in
  scikit-learn); a pipeline of scikit-learn, regression.
- tumours: benign or malignant from thirty features of 569 images (Wolberg et al. 1995, CC BY 4.0, in scikit-learn);
  five small XGBoost models as an ensemble, two classes.
- wines: cultivar from five analyses of 178 wines (Aeberhard and Forina 1992, CC BY 4.0, in scikit-learn) and a made
  cellar. 178 wines are too few for three parts: rows are drawn anew from means and covariances of the cultivars.
  CatBoost with a categorical column, three classes.
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import demur

SEED = 1
RETENTION = 0.8
CELLARS = ("east", "north", "south")


def diabetes() -> tuple[Any, pd.DataFrame, pd.DataFrame]:
    """Return a pipeline, rows to calibrate with and held-out rows."""
    from sklearn.datasets import load_diabetes
    from sklearn.ensemble import RandomForestRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    table = load_diabetes(as_frame=True, scaled=False).frame.rename(columns={"target": "progression"}).astype(float)
    training, calibration, held_out = _parts(table)
    forest = RandomForestRegressor(200, min_samples_leaf=5, random_state=SEED)
    model = make_pipeline(StandardScaler(), forest)
    return model.fit(training.drop(columns="progression"), training.progression), calibration, held_out


def tumours() -> tuple[Any, pd.DataFrame, pd.DataFrame]:
    """Return an ensemble of five models, rows to calibrate with and held-out rows."""
    from sklearn.datasets import load_breast_cancer
    from xgboost import XGBClassifier

    data = load_breast_cancer(as_frame=True)
    names = data.target_names  # malignant, benign
    table = data.data.assign(diagnosis=[str(names[label]) for label in data.target])
    table.columns = table.columns.str.replace(" ", "_")
    training, calibration, held_out = _parts(table)
    labels = (training.diagnosis == "malignant").astype(int)
    members = []
    for member in range(5):
        chosen = np.random.default_rng(member).integers(0, len(training), len(training))
        model = XGBClassifier(n_estimators=40, max_depth=3, random_state=member)
        members.append(model.fit(training.drop(columns="diagnosis").iloc[chosen], labels.iloc[chosen]))
    for part in (calibration, held_out):
        part["diagnosis"] = (part.diagnosis == "malignant").astype(int)
    return members, calibration, held_out


def wines() -> tuple[Any, pd.DataFrame, pd.DataFrame]:
    """Return a model with a categorical column, rows to calibrate with and held-out rows."""
    from catboost import CatBoostClassifier
    from sklearn.datasets import load_wine

    data = load_wine(as_frame=True)
    random = np.random.default_rng(SEED)
    drawn = []
    for label, group in data.data.groupby(data.target):
        rows = random.multivariate_normal(group.mean(), 1.5 * group.cov(), 2000)
        cellar = random.choice(CELLARS, 2000, p=np.roll((0.6, 0.25, 0.15), int(label)))
        drawn.append(pd.DataFrame(rows, columns=data.feature_names).assign(cellar=cellar, cultivar=f"cultivar {label}"))
    columns = ["alcohol", "malic_acid", "ash", "magnesium", "hue", "cellar", "cultivar"]
    table = pd.concat(drawn)[columns]
    training, calibration, held_out = _parts(table)
    model = CatBoostClassifier(iterations=200, depth=4, verbose=False, allow_writing_files=False, random_seed=SEED)
    features = training.drop(columns="cultivar")
    return model.fit(features, training.cultivar, cat_features=["cellar"]), calibration, held_out


EXAMPLES = {"diabetes": (diabetes, "progression"), "tumours": (tumours, "diagnosis"), "wines": (wines, "cultivar")}
"""Name to its function and target."""


def _parts(table: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Return shuffled rows for training, calibration and judgement: 40, 30 and 30 %."""
    shuffled = table.sample(frac=1.0, random_state=SEED).reset_index(drop=True)
    first, second = 4 * len(shuffled) // 10, 7 * len(shuffled) // 10
    return shuffled[:first].copy(), shuffled[first:second].copy(), shuffled[second:].copy()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=EXAMPLES)
    parser.add_argument("--out", type=Path, default=Path(), help="folder for the held-out rows")
    options = parser.parse_args()
    make, target = EXAMPLES[options.name]
    model, calibration, held_out = make()
    rows = calibration.drop(columns=target)
    print(demur.build(model, rows, calibration[target], name=options.name, retention=RETENTION))
    held_out.to_csv(options.out / f"{options.name}.csv", index=False)
    print(f"held-out rows: {options.out / f'{options.name}.csv'}")


if __name__ == "__main__":
    main()
