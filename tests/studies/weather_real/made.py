"""A made-up set with both heads, small enough to be fitted in a test."""

import numpy as np

from models.schema import Feature, Schema
from studies.weather_real.data import DAY, RealSet, Split, classes

FIRST = 1_262_304_000.0
"""1 January 2010, UTC."""


def made(n: int = 400, seed: int = 0) -> RealSet:
    """One station, a row a day; the second half of the test is colder than all before, and is called shifted."""
    rng = np.random.default_rng(seed)
    time = FIRST + DAY * np.arange(n)
    test, train = np.arange(n) >= n // 2, np.arange(n) < n // 4
    shifted = np.arange(n) >= 3 * n // 4
    truth = rng.normal(4, 5, n) - 15 * shifted
    members = truth + rng.normal(1, 1, n) + rng.normal(0, 1, (7, n))
    rain = np.maximum(rng.normal(1, 2, (7, n)) + rng.normal(0, 1, n), 0)
    temperature, wet = truth + rng.normal(0, 1, n), np.maximum(rain.mean(axis=0) + rng.normal(-1, 0.5, n), 0)
    mean, variance = members.mean(axis=0), members.var(axis=0)
    angle = 2 * np.pi * (time / DAY % 365.25) / 365.25
    season = np.stack([np.sin(angle), np.cos(angle)], axis=1)
    names = ("ensemble_mean", "ensemble_sd", "precipitation_mean")
    rows = np.stack([mean, np.sqrt(variance), rain.mean(axis=0)], axis=1)
    rest = ~train & ~test
    return RealSet(
        name="made",
        title="Made",
        schema=Schema(tuple(Feature(name, "°C", -90, 1000, name) for name in names)),
        rows=rows.astype(np.float32),
        time=time,
        temperature=temperature,
        precipitation=classes(temperature, wet),
        raw_mean=mean,
        raw_variance=variance,
        raw_classes=classes(members, rain),
        centred_classes=classes(members - 1, rain),
        covariates=season,
        covariate="season",
        predictors=(rows - rows[train].mean(axis=0)) / rows[train].std(axis=0),
        shifted=shifted,
        shift="the second half of the test",
        split=Split(train, rest & (np.arange(n) % 2 == 0), rest & (np.arange(n) % 2 == 1), test),
    )
