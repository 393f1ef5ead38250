"""Made tables with a known law: numbers, texts and missing values; noise that depends on a column."""

from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Kind = Literal["regression", "binary", "five"]
Columns = Literal["numeric", "categorical", "missing"]
CITIES = ("bonn", "jena", "kiel", "ulm")
CLASSES = {"binary": ("no", "yes"), "five": ("0", "1", "2", "3", "4")}


def world(
    rows: int, kind: Kind = "regression", columns: Columns = "numeric", seed: int = 0
) -> tuple[Any, NDArray[Any]]:
    """Return a data frame and its labels: the noise of a row grows with its column x1."""
    random = np.random.default_rng(seed)
    x = random.normal(size=(rows, 6)).astype(np.float32)
    frame = pd.DataFrame(x, columns=[f"x{place}" for place in range(6)])
    centre = 2 * x[:, 0] + np.sin(2 * x[:, 2])
    if columns == "categorical":
        city = random.integers(0, len(CITIES), rows)
        frame["city"] = pd.Categorical(np.array(CITIES)[city], categories=CITIES)
        centre = centre + city - 1.5
    value = centre + 0.3 * np.exp(0.8 * x[:, 1]) * random.normal(size=rows)
    if columns == "missing":
        frame.loc[random.random(rows) < 0.1, "x3"] = np.nan
    if kind == "binary":
        return frame, np.where(value > 0, "yes", "no").astype(object)
    if kind == "five":
        return frame, np.digitize(value, [-2.0, -0.7, 0.7, 2.0])
    return frame, value
