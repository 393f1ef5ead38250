"""Streams whose truth is known: heavy-tailed errors, a hidden part that the uncertainty does not see."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from models.estimation.window import Doubles, Window

THRESHOLD = float(np.exp(0.8 * 1.2815515655446004))  # defers 10 %
Missing = Literal["none", "random", "worst"]


@dataclass(frozen=True)
class Truth:
    """A window as the service sees it, and the errors that nobody sees."""

    window: Window
    errors: Doubles

    @property
    def whole(self) -> Window:
        """The same with every label."""
        n = len(self.errors)
        return Window(self.window.uncertainty, self.window.answered, np.ones(n), np.ones(n, bool), self.errors)


def errors(rng: np.random.Generator, n: int) -> tuple[Doubles, Doubles]:
    """Uncertainty exp(N(0, 0.8)), and errors: variance times chi2(1), the variance six times too large in 4 %."""
    uncertainty = np.exp(rng.normal(0, 0.8, n))
    variance = uncertainty * np.where(rng.random(n) < 0.04, 6, 0.85)
    return uncertainty, variance * rng.chisquare(1, n)


def audited(seed: int, n: int, rate: float) -> Truth:
    """10 % deferred and all of them labelled; a share of the rest audited at random."""
    rng = np.random.default_rng(seed)
    uncertainty, error = errors(rng, n)
    answered = uncertainty <= THRESHOLD
    propensity = np.where(answered, rate, 1.0)
    labelled = rng.random(n) < propensity
    return Truth(Window(uncertainty, answered, propensity, labelled, np.where(labelled, error, np.nan)), error)


def delayed(seed: int, n: int, *, missing: Missing = "none", logged: bool = False, defers: bool = True) -> Truth:
    """Labels after a mean of 0.5, of the most uncertain 10 % after 2.0; ages even on [0, 2]; 5 % audited.

    Args:
        missing: which third of the deferred is never reviewed.
        logged: whether the outcome of the draws is.
        defers: whether the most uncertain 10 % are deferred and all reviewed, or answered and audited as all.
    """
    rng = np.random.default_rng(seed)
    uncertainty, error = errors(rng, n)
    fast = uncertainty <= np.quantile(uncertainty, 0.9)
    answered = fast | (not defers)
    propensity = np.where(answered, 0.05, 1.0)
    requested = rng.random(n) < propensity
    age = rng.uniform(0, 2, n)
    delay = rng.exponential(np.where(fast, 0.5, 2.0))
    if missing == "random":
        delay[~answered & (rng.random(n) < 1 / 3)] = np.inf
    if missing == "worst":
        delay[~answered & (error > np.quantile(error[~answered], 2 / 3))] = np.inf
    labelled = requested & (delay <= age)
    window = Window(
        uncertainty,
        answered,
        propensity,
        labelled,
        np.where(labelled, error, np.nan),
        age=age,
        delay=np.where(labelled, delay, np.nan),
    )
    return Truth(replace(window, requested=requested) if logged else window, error)
