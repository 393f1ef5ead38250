"""Splits by time and climate: the canonical partition, the extended splits A to D, and any other of the same form.

Time is divided into four blocks: in-domain, an unused gap, shifted for evaluation, shifted for development (the last
block is ``dev_out``, as in the released code). In-domain rows are those of some climates in the first block; they are
divided at random. Shifted rows are those of other climates in their block (Shifts 1.0, C.1 and Figure 6).
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.tasks.weather.data.table import CLIMATES

BEGIN = 1_535_760_000.0
"""Begin of the official data, 2018-09-01, Unix seconds."""
END = BEGIN + 365 * 86_400.0
"""End of the official data, 2019-09-01, Unix seconds."""

CANONICAL = ("train", "dev_in", "dev_out", "eval_in", "eval_out")
EXTENDED = ("train_xclim", "dev_xclim", "train_xtime", "dev_xtime")
SPLITS = (*CANONICAL, *EXTENDED)

EXPERIMENTS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "A": (("train",), ("dev_in",)),
    "B": (("train", "train_xclim"), ("dev_in", "dev_xclim")),
    "C": (("train", "train_xtime"), ("dev_in", "dev_xtime")),
    "D": (("train", "train_xclim", "train_xtime"), ("dev_in", "dev_xclim", "dev_xtime")),
}
"""Training and development splits of each experiment (Shifts 1.0, Table 12); the remaining shift is time and climate
(A), time (B), climate (C), none (D).
"""

COUNTS: Mapping[str, tuple[int, ...]] = {
    "train": (416_310, 690_284, 2_022_998, 0, 0),
    "dev_in": (6_641, 10_961, 32_398, 0, 0),
    "dev_out": (0, 0, 0, 50_000, 0),
    "eval_in": (74_406, 123_487, 363_212, 0, 0),
    "eval_out": (0, 0, 0, 525_967, 50_659),
}
"""Rows of each climate at scale 1 (Shifts 1.0, Table 8)."""
DUMMIES = 2
"""Number of rows of ``train`` that are averages, not reports."""


class BadPartition(ValueError):
    """Partition that cannot be made; the message states the reason."""


@dataclass(frozen=True, slots=True)
class Rules:
    """Rules of a partition; the defaults are the canonical one."""

    time_split: tuple[float, float, float, float] = (0.6, 0.1, 0.15, 0.15)
    """Shares of the whole time: in-domain, gap, eval_out, dev_out."""
    in_climates: tuple[str, ...] = ("tropical", "dry", "mild temperate")
    dev_climates: tuple[str, ...] = ("snow",)
    eval_climates: tuple[str, ...] = ("snow", "polar")
    in_split: tuple[float, float, float] = (0.83642, 0.01358, 0.15)
    """Shares of the in-domain rows: train, dev_in, eval_in."""

    def __post_init__(self) -> None:
        for name, shares in (("time-split", self.time_split), ("in-split", self.in_split)):
            if min(shares) < 0 or abs(sum(shares) - 1.0) > 1e-6 or not shares[0]:
                raise BadPartition(
                    f"{name} {' '.join(f'{share:g}' for share in shares)} (shares): each must lie in [0, 1], the first "
                    f"above 0, and they must add up to 1, not {sum(shares):g}; change them"
                )
        for name, climates in (
            ("in-climates", self.in_climates),
            ("dev-climates", self.dev_climates),
            ("eval-climates", self.eval_climates),
        ):
            unknown = [climate for climate in climates if climate not in CLIMATES]
            if unknown:
                raise BadPartition(f"{name}: no climate {unknown[0]!r}; the climates are {', '.join(CLIMATES)}")
        if not self.in_climates:
            raise BadPartition("in-climates: at least one climate is needed to train on")

    def edges(self, begin: float, end: float) -> tuple[float, float, float, float, float]:
        """Return the begin of each block and the end of the last, in the unit of the two times."""
        inner = begin + (end - begin) * np.cumsum(self.time_split[:3])
        return begin, float(inner[0]), float(inner[1]), float(inner[2]), end


def counts(scale: float, *, extended: bool = False) -> dict[str, NDArray[np.int64]]:
    """Return the number of rows of each climate [5] in each split of the simulated partition.

    The two dummy rows do not count.

    At scale 1 they are those of Shifts 1.0, Table 8. The paper gives no sizes of the extended splits: they have the
    same shares (``Rules.in_split``) of the rows that a year of equally frequent reports has in their climates and
    blocks.

    Raises:
        BadPartition: the scale is outside (0, 1].
    """
    if not 0.0 < scale <= 1.0:
        raise BadPartition(f"scale = {scale:g} (share of the canonical rows) must lie in (0, 1]")
    table = {name: np.array(rows, np.int64) for name, rows in COUNTS.items()}
    table["train"][2] -= DUMMIES  # the paper does not say which climate they are counted in
    if extended:
        rules = Rules()
        inside = sum(np.array(COUNTS[name]) for name in ("train", "dev_in", "eval_in")) / rules.time_split[0]
        outside = np.array(COUNTS["eval_out"]) / rules.time_split[2]
        for number, name in enumerate(("train", "dev")):
            share = rules.in_split[number]
            table[f"{name}_xclim"] = np.rint(share * rules.time_split[0] * outside).astype(np.int64)
            table[f"{name}_xtime"] = np.rint(share * sum(rules.time_split[2:]) * inside).astype(np.int64)
    return {
        name: np.where(rows > 0, np.maximum(np.rint(rows * scale), 1), 0).astype(np.int64)
        for name, rows in table.items()
    }


UNUSED = len(SPLITS)
"""Index that ``assign`` gives to rows of the gap, of climates that are not selected, and of unknown climate."""


def assign(
    time: NDArray[np.float64],
    climate: NDArray[np.uint8],
    rules: Rules,
    seed: int,
    *,
    extended: bool = False,
) -> NDArray[np.uint8]:
    """Return the index into ``SPLITS`` of each row [N], ``UNUSED`` if it belongs to none.

    Blocks are shares of the time from the first to the last row. The same seed and rows give the same splits.

    Args:
        time: Unix seconds [N].
        climate: index into ``CLIMATES`` [N].
        extended: whether to fill the splits of ``EXTENDED``, too: other climates in the first block, in-domain climates
            in the last two, each with the shares of train and dev_in; the rest stays unused.

    Raises:
        BadPartition: there are no rows, a time is not finite, or no row is for training.
    """
    if not len(time) or not np.isfinite(time).all():
        raise BadPartition(
            "fact_time: a partition by time needs rows with finite times in Unix seconds; "
            f"{int(np.sum(~np.isfinite(time)))} of {len(time)} rows have none"
        )
    _, inside, gap, middle, _ = rules.edges(float(time.min()), float(time.max()))
    rng = np.random.default_rng(seed)
    assigned = np.full(len(time), UNUSED, np.uint8)
    first, third = time <= inside, (time > gap) & (time <= middle)
    last = time > max(gap, middle)
    ours = np.isin(climate, _codes(rules.in_climates))
    known = climate < len(CLIMATES)
    _divide(rng, assigned, np.flatnonzero(first & ours), ("train", "dev_in", "eval_in"), rules.in_split)
    assigned[third & np.isin(climate, _codes(rules.eval_climates))] = SPLITS.index("eval_out")
    assigned[last & np.isin(climate, _codes(rules.dev_climates))] = SPLITS.index("dev_out")
    if extended:
        shares = rules.in_split[:2]
        _divide(rng, assigned, np.flatnonzero(first & ~ours & known), ("train_xclim", "dev_xclim"), shares)
        later = (third | last) & ours & (assigned == UNUSED)
        _divide(rng, assigned, np.flatnonzero(later), ("train_xtime", "dev_xtime"), shares)
    if not (assigned == SPLITS.index("train")).any():
        raise BadPartition(
            f"no row of the climates {', '.join(rules.in_climates)} lies in the first block: nothing to train on"
        )
    return assigned


def _codes(climates: tuple[str, ...]) -> list[int]:
    return [CLIMATES.index(climate) for climate in climates]


def _divide(
    rng: np.random.Generator,
    assigned: NDArray[np.uint8],
    rows: NDArray[np.intp],
    names: tuple[str, ...],
    shares: tuple[float, ...],
) -> None:
    """Assign rows at random to splits, by shares of their number; rows left over are unchanged."""
    shuffled = rng.permutation(rows)
    bounds = np.rint(np.cumsum((0.0, *shares)) * len(rows)).astype(int)
    for name, start, stop in zip(names, bounds[:-1], bounds[1:], strict=True):
        assigned[shuffled[start:stop]] = SPLITS.index(name)
