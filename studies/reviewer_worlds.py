"""Simulated reviewers with known errors, and the cases of the study of their statistics."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from models.agreement.bounds import Bounds
from models.agreement.chance import Metric, alpha_measure, kappa_measure
from models.agreement.human_error import Relation, human_error
from models.agreement.means import mean_bounds, sample
from models.agreement.numbers import difference_measure, icc_measure
from models.agreement.pairs import LabelPairs
from models.agreement.rates import jeffreys
from models.agreement.system_error import system_error

Array = NDArray[np.float64]
Rng = np.random.Generator
Draw = Callable[[Rng], Bounds]
Kind = Literal["exact", "range", "shown"]
"""``exact``: coverage should be the level; ``range``: at least; ``shown``: an assumption is violated."""

RATES = (0.25, 0.25, 0.5, 0.5, 1.0, 1.0, 2.0, 2.5)
"""Errors of different reviewers, as multiples of their mean."""
PAIRS = (50, 200, 1000)
KNOWN = (0.0, 0.2, 0.5)
SHARES_ANSWERED = 0.9
ANSWERED_LABELS = 400
_POOL = 12_000  # units with masks, from which runs draw
_SIDE = 32  # voxels


@dataclass(frozen=True)
class Case:
    """Figure of one world, whose truth is known."""

    figure: str
    world: str
    pairs: int
    known: float
    """Labels of known units, as a share of the number of pairs."""
    truth: float
    draw: Draw
    kind: Kind = "exact"


def cases() -> Iterator[Case]:
    """Yield all cases."""
    for measure in _agreement_of_classes, _agreement_of_numbers, _errors, _systems, _populations, _violations:
        for pairs in PAIRS:
            yield from measure(pairs)


def two(people: int, n: int, rng: Rng) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return two different reviewers for each of n units."""
    first = rng.integers(0, people, n)
    return first, (first + rng.integers(1, people, n)) % people


@dataclass(frozen=True)
class Classes:
    """Reviewers who give a wrong class at their own rates, any wrong class alike."""

    classes: int
    rates: Array
    """Error rate of each reviewer [R]."""
    prior: Array
    """Share of the units of each class [classes]."""

    def labels(self, truth: NDArray[np.intp], reviewer: NDArray[np.intp], rng: Rng) -> NDArray[np.intp]:
        return wrong(truth, self.rates[reviewer], self.classes, rng)

    def pairs(self, n: int, rng: Rng) -> LabelPairs:
        first, second = two(len(self.rates), n, rng)
        truth = rng.choice(self.classes, n, p=self.prior)
        one, other = self.labels(truth, first, rng), self.labels(truth, second, rng)
        values = one.astype(np.float64), other.astype(np.float64)
        return LabelPairs(np.arange(n), first, second, (one != other).astype(np.float64), *values)

    def agreement(self) -> tuple[float, float]:
        """Return the true kappa and alpha."""
        k, people = self.classes, len(self.rates)
        eye = np.eye(k)
        confusion = (1 - self.rates)[:, None, None] * eye + self.rates[:, None, None] * (1 - eye) / (k - 1)
        margins = np.einsum("t,rtc->rc", self.prior, confusion)
        apart = 1 - np.einsum("t,rtc,stc->rs", self.prior, confusion, confusion)
        others = ~np.eye(people, dtype=bool)
        observed, mean = apart[others].mean(), margins.mean(axis=0)
        return 1 - observed / (1 - margins @ margins.T)[others].mean(), 1 - observed / (1 - mean @ mean)


def wrong(truth: NDArray[np.intp], rate: Array | float, classes: int, rng: Rng) -> NDArray[np.intp]:
    """Return labels that are wrong at a rate, any wrong class alike [n]."""
    n = len(truth)
    return np.where(rng.random(n) < rate, (truth + rng.integers(1, classes, n)) % classes, truth)


def spread(mean: float, *, different: bool) -> Array:
    """Return the error of each reviewer [8]."""
    return mean * np.array(RATES) if different else np.full(len(RATES), mean)


def _classes(rate: float, classes: int, *, different: bool, rare: bool = False) -> Classes:
    prior = np.full(classes, 1 / classes)
    if rare:
        prior[:] = 0.15 / (classes - 1)
        prior[0] = 0.85
    return Classes(classes, spread(rate, different=different), prior)


_SORTS = (("alike", False), ("different", True))


def _agreement_of_classes(pairs: int) -> Iterator[Case]:
    for name, different in _SORTS:
        for classes, rare in ((2, False), (2, True), (3, False), (10, False)):
            world = _classes(0.08, classes, different=different, rare=rare)
            words = f"{name}, {classes} classes{', 15 % of one' if rare else ''}"
            kappa, alpha = world.agreement()
            yield Case("Cohen's kappa", words, pairs, 0.0, kappa, partial(_of_classes, world, pairs, kappa_measure))
            yield Case(
                *("Krippendorff's alpha of classes", words, pairs, 0.0, alpha),
                partial(_of_classes, world, pairs, alpha_measure),
            )


def _of_classes(world: Classes, pairs: int, measure: Callable[[LabelPairs], Bounds], rng: Rng) -> Bounds:
    return measure(world.pairs(pairs, rng))


def _agreement_of_numbers(pairs: int) -> Iterator[Case]:
    metric: Metric = "interval"
    for name, different in _SORTS:
        variance = spread(0.25, different=different)
        measures: tuple[tuple[str, float, Callable[[LabelPairs], Bounds]], ...] = (
            ("intraclass correlation", 0.8, icc_measure),
            ("Krippendorff's alpha of numbers", 0.8, partial(alpha_measure, metric=metric)),
            ("mean squared difference", 0.5, difference_measure),
        )
        for figure, truth, measure in measures:
            yield Case(figure, name, pairs, 0.0, truth, partial(_of_numbers, variance, pairs, measure))


def _of_numbers(variance: Array, pairs: int, measure: Callable[[LabelPairs], Bounds], rng: Rng) -> Bounds:
    first, second = two(len(variance), pairs, rng)
    unit = rng.normal(size=pairs)
    one, other = (unit + np.sqrt(variance[reviewer]) * rng.normal(size=pairs) for reviewer in (first, second))
    return measure(LabelPairs(np.arange(pairs), first, second, (one - other) ** 2, one, other))


@dataclass(frozen=True)
class Numbers:
    """Reviewers whose labels have errors of their own variances, and of a law with variance 1."""

    variances: Array
    law: Callable[[Rng, Any], Array] = field(default=lambda rng, size: rng.normal(size=size))
    bias: float = 0.0
    """Bias that all reviewers share."""

    def errors(self, reviewer: NDArray[np.intp], rng: Rng) -> Array:
        return self.bias + np.sqrt(self.variances[reviewer]) * self.law(rng, len(reviewer))

    @property
    def truth(self) -> float:
        return float(self.variances.mean()) + self.bias**2


def heavy(rng: Rng, size: Any) -> Array:
    """Return values of Student's law with 6 degrees of freedom, scaled to variance 1."""
    return np.asarray(rng.standard_t(6, size) * np.sqrt(4 / 6))


def _squared(world: Numbers, pairs: int, known: float, rng: Rng) -> Bounds:
    first, second = two(len(world.variances), pairs, rng)
    differences = (world.errors(first, rng) - world.errors(second, rng)) ** 2
    checked = rng.integers(0, len(world.variances), round(known * pairs))
    return human_error("squared", differences, world.errors(checked, rng) ** 2)


def _class(world: Classes, pairs: int, known: float, rng: Rng) -> Bounds:
    checked = world.rates[rng.integers(0, len(world.rates), round(known * pairs))]
    known_errors = rng.random(len(checked)) < checked
    return human_error("class", world.pairs(pairs, rng).difference, known_errors, classes=world.classes)


def _errors(pairs: int) -> Iterator[Case]:
    figure = "error of a label"
    for known in KNOWN:
        for name, different in _SORTS:
            for classes, rate in ((2, 0.02), (2, 0.1), (3, 0.1), (10, 0.1)):
                world = _classes(rate, classes, different=different)
                words = f"{name}, {rate:.0%} of {classes} classes"
                draw = partial(_class, world, pairs, known)
                yield Case(f"{figure}, classes", words, pairs, known, rate, draw)
            for law, words in ((None, "normal"), (heavy, "heavy tails")):
                variances = spread(1.0, different=different)
                numbers = Numbers(variances) if law is None else Numbers(variances, law)
                draw = partial(_squared, numbers, pairs, known)
                yield Case(f"{figure}, squares", f"{name}, {words}", pairs, known, 1.0, draw)
            pool = _pool(different=different)
            draw = partial(_overlap, pool, pairs, known)
            yield Case(f"{figure}, masks", name, pairs, known, pool.truth, draw, "range")
            sd = np.sqrt(spread(1.0, different=different))
            draw = partial(_distance, sd, pairs, known)
            truth = float(sd.mean()) * np.sqrt(np.pi / 2)
            yield Case(f"{figure}, positions", name, pairs, known, truth, draw, "range")


def _distance(sd: Array, pairs: int, known: float, rng: Rng) -> Bounds:
    first, second = two(len(sd), pairs, rng)
    one, other = (sd[reviewer, None] * rng.normal(size=(pairs, 2)) for reviewer in (first, second))
    number = round(known * pairs)
    checked = sd[rng.integers(0, len(sd), number), None] * rng.normal(size=(number, 2))
    return human_error("distance", np.linalg.norm(one - other, axis=1), np.linalg.norm(checked, axis=1))


@dataclass(frozen=True)
class Masks:
    """Units with masks of two reviewers and a model: one minus Dice between them [P]."""

    difference: Array
    error: Array
    """Error of the first reviewer's mask, against the truth."""
    measured: Array
    """Error of the model's mask as measured, against the first reviewer's."""
    model: Array
    """Error of the model's mask, against the truth."""

    @property
    def truth(self) -> float:
        return float(self.error.mean())


@cache
def _pool(*, different: bool) -> Masks:
    """Draw masks: discs with an outline that each reviewer, and with larger errors the model, draws anew."""
    rng = np.random.default_rng(int(different))
    sizes = spread(1.0, different=different)
    radius = rng.uniform(5.0, 10.0, _POOL)
    first, second = two(len(sizes), _POOL, rng)
    truth = _discs(radius, np.zeros(_POOL), rng)
    one, other = (_discs(radius, 0.4 * sizes[reviewer], rng) for reviewer in (first, second))
    model = _discs(radius, np.full(_POOL, 0.8), rng)
    return Masks(_apart(one, other), _apart(one, truth), _apart(model, one), _apart(model, truth))


def _discs(radius: Array, size: Array, rng: Rng) -> NDArray[np.bool_]:
    """Return masks [P, voxels] whose outline errs by a shift, a change of radius and four waves of a size in voxels."""
    axis = np.arange(_SIDE) - (_SIDE - 1) / 2
    across, up = np.meshgrid(axis, axis)
    outline = np.broadcast_to(radius[:, None], (len(radius), 64)).copy()
    angle = np.linspace(-np.pi, np.pi, 64, endpoint=False)
    for wave in range(5):
        turned = np.cos(wave * angle + rng.uniform(0, 2 * np.pi, (len(radius), 1)))
        outline += (size * rng.normal(size=len(radius)))[:, None] * turned
    place = ((np.arctan2(up, across) + np.pi) / (2 * np.pi) * 64).astype(int).ravel() % 64
    return np.hypot(across, up).ravel() <= outline[:, place]


def _apart(one: NDArray[np.bool_], other: NDArray[np.bool_]) -> Array:
    """Return one minus Dice [P]."""
    return 1 - 2 * (one & other).sum(axis=1) / (one.sum(axis=1) + other.sum(axis=1))


def _overlap(pool: Masks, pairs: int, known: float, rng: Rng) -> Bounds:
    chosen, checked = rng.integers(0, _POOL, pairs), rng.integers(0, _POOL, round(known * pairs))
    return human_error("overlap", pool.difference[chosen], pool.error[checked], largest=1.0)


def _systems(pairs: int) -> Iterator[Case]:
    q, figure = SHARES_ANSWERED, "error of the system"
    for name, different in _SORTS:
        for classes in (2, 3, 10):
            world = _classes(0.08, classes, different=different)
            draw = partial(_system_of_classes, world, pairs, 0.06)
            yield Case(f"{figure}, classes", f"{name}, {classes} classes", pairs, 0.0, q * 0.06 + (1 - q) * 0.08, draw)
        numbers = Numbers(spread(0.5, different=different))
        draw = partial(_system_of_numbers, numbers, pairs, 2.0)
        yield Case(f"{figure}, squares", name, pairs, 0.0, q * 2.0 + (1 - q) * 0.5, draw)
        pool = _pool(different=different)
        draw = partial(_system_of_masks, pool, pairs)
        truth = q * float(pool.model.mean()) + (1 - q) * pool.truth
        yield Case(f"{figure}, masks", name, pairs, 0.0, truth, draw, "range")


def _system_of_classes(world: Classes, pairs: int, model: float, rng: Rng) -> Bounds:
    truth = rng.choice(world.classes, ANSWERED_LABELS, p=world.prior)
    labels = world.labels(truth, rng.integers(0, len(world.rates), ANSWERED_LABELS), rng)
    apart = float((labels != wrong(truth, model, world.classes, rng)).sum())
    human = _class(world, pairs, 0.0, rng)
    relation: Relation = "class"
    return system_error(
        SHARES_ANSWERED, jeffreys(apart, ANSWERED_LABELS), human, relation=relation, classes=world.classes
    )


def _system_of_numbers(world: Numbers, pairs: int, model: float, rng: Rng) -> Bounds:
    person = world.errors(rng.integers(0, len(world.variances), ANSWERED_LABELS), rng)
    measured = sample("errors", (np.sqrt(model) * rng.normal(size=ANSWERED_LABELS) - person) ** 2)
    return system_error(SHARES_ANSWERED, mean_bounds(measured), _squared(world, pairs, 0.0, rng), relation="squared")


def _system_of_masks(pool: Masks, pairs: int, rng: Rng) -> Bounds:
    measured = sample("errors", pool.measured[rng.integers(0, _POOL, ANSWERED_LABELS)])
    human = _overlap(pool, pairs, 0.0, rng)
    return system_error(SHARES_ANSWERED, mean_bounds(measured, largest=1.0), human, relation="overlap", largest=1.0)


def _populations(pairs: int) -> Iterator[Case]:
    figure = "error of a label, for a population of reviewers"
    for people in (6, 12, 30):
        words = f"{people} drawn of many"
        yield Case(figure, f"{words}, squares", pairs, 0.0, 1.0, partial(_drawn_squares, people, pairs), "range")
        yield Case(figure, f"{words}, 2 classes", pairs, 0.0, 0.1, partial(_drawn_classes, people, pairs), "range")


def _drawn_squares(people: int, pairs: int, rng: Rng) -> Bounds:
    world = Numbers(rng.gamma(2.0, 0.5, people))
    first, second = two(people, pairs, rng)
    differences = (world.errors(first, rng) - world.errors(second, rng)) ** 2
    return human_error("squared", differences, reviewers=np.stack([first, second], axis=1))


def _drawn_classes(people: int, pairs: int, rng: Rng) -> Bounds:
    labels = Classes(2, rng.beta(2.0, 18.0, people), np.full(2, 0.5)).pairs(pairs, rng)
    reviewers = np.stack([labels.first, labels.second], axis=1)
    return human_error("class", labels.difference, classes=2, reviewers=reviewers)


def _violations(pairs: int) -> Iterator[Case]:
    """Worlds in which an assumption of second opinions is wrong; known units are right."""
    figure = "error of a label, where assumptions fail"
    for known in KNOWN:
        biased = Numbers(spread(1.0, different=False), bias=1.0)
        draw = partial(_squared, biased, pairs, known)
        yield Case(figure, "squares, one bias of all", pairs, known, biased.truth, draw, "shown")
        draw = partial(_difficult, pairs, known)
        words = "3 classes, a fifth of the units 40 %, others 2.5 %"
        yield Case(figure, words, pairs, known, 0.1, draw, "shown")
        draw = partial(_difficult, pairs, known, relation="uneven_class")
        yield Case("error of a label, uneven classes", words, pairs, known, 0.1, draw, "range")
        draw = partial(_alike, pairs, known)
        yield Case(figure, "3 classes, half of the errors common", pairs, known, 0.1, draw, "shown")


def _difficult(pairs: int, known: float, rng: Rng, relation: Relation = "class") -> Bounds:
    def rates(n: int) -> Array:
        return np.where(rng.random(n) < 0.2, 0.4, 0.025)

    rate, truth = rates(pairs), np.zeros(pairs, np.intp)
    apart = wrong(truth, rate, 3, rng) != wrong(truth, rate, 3, rng)
    number = round(known * pairs)
    return human_error(relation, apart, rng.random(number) < rates(number), classes=3)


def _alike(pairs: int, known: float, rng: Rng) -> Bounds:
    # a tenth of the labels is wrong: half of the errors are those that every reviewer makes with that unit
    own = 0.05 / 0.95
    truth, common = np.zeros(pairs, np.intp), rng.random(pairs) < 0.05
    apart = (wrong(truth, own, 3, rng) != wrong(truth, own, 3, rng)) & ~common
    return human_error("class", apart, rng.random(round(known * pairs)) < 0.1, classes=3)
