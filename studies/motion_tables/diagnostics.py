"""Figures that explain the tables: distances between plans, best of all plans, and detection of shifted requests."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from models import uncertainty
from models.assessment.detection import roc_auc
from models.assessment.trajectories import mode_ade
from studies import pages
from studies.motion_tables.judge import ScoredEnsemble, judged
from studies.motion_tables.members import Imagined
from studies.motion_tables.plan import BACKBONES, FAMILIES, METHODS, SIZES, Backbone, subsets

DEEP = METHODS[0]
ENDS = (min(SIZES), max(SIZES))
MOVING = 2.0
"""Distance after five seconds above which requests count as moving, m."""
SPLITS = ("dev", "eval")
COMMAND = (
    "python -m studies.motion_tables --served artefacts/motion --families bc dim "
    "--parts simulate imagine diagnostics page"
)
_MEASURE = "request_uncertainty"


@dataclass(frozen=True)
class Plans:
    """Deep ensembles of one size on one split, model averaging; means over requests and ensembles, m."""

    split: str
    backbone: Backbone
    size: int
    apart: float
    """Distance between the ends of two of the kept plans."""
    kept: float
    """minADE of the kept plans."""
    random: float
    """Average minADE of equally many random plans."""
    every: float
    """minADE of all plans."""


@dataclass(frozen=True)
class Detection:
    """ROC-AUC of detecting shifted requests, by request uncertainty of all members, model averaging."""

    split: str
    backbone: Backbone
    every: float
    moving: float
    """ROC-AUC among moving requests."""


@dataclass(frozen=True)
class Diagnostics:
    """Diagnostic figures, and the machine that computed them."""

    machine: str
    plans: tuple[Plans, ...]
    detection: tuple[Detection, ...]
    moving: Mapping[str, Mapping[str, float]]
    """Share of evaluated requests that move, by split and city."""

    def document(self) -> dict[str, Any]:
        """Return the figures as a JSON object for ``read``."""
        return asdict(self)

    @classmethod
    def read(cls, kept: Mapping[str, Any]) -> Self:
        """Read the output of ``document``."""
        return cls(
            kept["machine"],
            tuple(Plans(**fields) for fields in kept["plans"]),
            tuple(Detection(**fields) for fields in kept["detection"]),
            kept["moving"],
        )


def diagnostics(by_split: Mapping[tuple[str, str], Imagined], machine: str) -> Diagnostics:
    """Compute all figures, rounded to the printed decimals.

    Args:
        by_split: plans and scores of deep ensembles, by split and family.
    """
    families = {backbone: FAMILIES[backbone, DEEP] for backbone in BACKBONES}
    plans, detection = [], []
    for split in SPLITS:
        for backbone, family in families.items():
            imagined = by_split[split, family]
            plans += [_plans(imagined, split, backbone, size) for size in ENDS]
            detection.append(_detection(imagined, split, backbone))
    moving = {split: _shares(by_split[split, families[BACKBONES[0]]]) for split in SPLITS}
    return Diagnostics(machine, tuple(plans), tuple(detection), moving)


def moves(imagined: Imagined) -> NDArray[np.bool_]:
    """Return the mask of moving requests [N]."""
    return np.asarray(np.linalg.norm(imagined.truth[:, -1], axis=1) > MOVING)


def among(errors: NDArray[np.floating[Any]], count: int) -> NDArray[np.float64]:
    """Return the mean over all choices of ``count`` plans of their smallest error [N].

    Args:
        errors: errors of G plans each [N, G].
    """
    ordered = np.sort(np.asarray(errors, np.float64), axis=1)
    plans = ordered.shape[1]
    left, share = 1.0, np.zeros(plans)
    for place in range(plans - count + 1):
        share[place] = left * count / (plans - place)
        left -= share[place]
    return np.asarray(ordered @ share)


def _plans(imagined: Imagined, split: str, backbone: Backbone, size: int) -> Plans:
    apart, kept, random, every = [], [], [], []
    for members in subsets(size, imagined.scores.shape[1]):
        ensemble: ScoredEnsemble = judged(imagined, members, "MA")
        ends = np.asarray(ensemble.predictive.plans, np.float64)[:, :, -1]
        first, second = np.triu_indices(ends.shape[1], 1)
        apart.append(np.linalg.norm(ends[:, first] - ends[:, second], axis=2).mean())
        errors = mode_ade(imagined.truth, imagined.part(members)[0])
        kept.append(ensemble.errors["minade"].mean())
        random.append(among(errors, ends.shape[1]).mean())
        every.append(errors.min(axis=1).mean())
    means = (round(float(np.mean(values)), 3) for values in (apart, kept, random, every))
    return Plans(split, backbone, size, *means)


def _detection(imagined: Imagined, split: str, backbone: Backbone) -> Detection:
    ensemble = judged(imagined, tuple(range(imagined.scores.shape[1])), "MA")
    ranks, mask = uncertainty.score(ensemble.predictive, _MEASURE), moves(imagined)
    areas = [roc_auc(imagined.shifted[kept], ranks[kept]) for kept in (np.ones(len(mask), bool), mask)]
    return Detection(split, backbone, *(round(area, 3) for area in areas))


def _shares(imagined: Imagined) -> dict[str, float]:
    mask = moves(imagined)
    return {str(city): round(float(mask[imagined.group == city].mean()), 3) for city in np.unique(imagined.group)}


def section(result: Diagnostics) -> list[str]:
    """Return the blocks of the page's section."""
    shares = "; ".join(
        f"{split} " + ", ".join(f"{city} {100 * share:.0f}" for city, share in cities.items())
        for split, cities in result.moving.items()
    )
    return [
        "Deep ensembles, model averaging, means over judged requests (with K=1 over the five members too): how "
        "far apart the ends of two of the five kept plans are, and minADE of these five, of five of all plans at "
        f"random, and of all plans ({_samples(result.plans)}). In metres.",
        pages.table(
            ("data", "model", "ends apart", "minADE: kept", "five at random", "all"),
            (
                (
                    *(plan.split, f"{plan.backbone}, K={plan.size}", f"{plan.apart:.2f}"),
                    *(f"{value:.3f}" for value in (plan.kept, plan.random, plan.every)),
                )
                for plan in result.plans
            ),
        ),
        f"Share of judged requests that move, farther than {MOVING:g} m from where they were after five seconds, %: "
        f"{shares}. ROC-AUC (%) of telling shifted requests by the request uncertainty of five members:",
        pages.table(
            ("data", "model", "all requests", "those that move"),
            (
                (each.split, f"{each.backbone}, K={max(SIZES)}", f"{100 * each.every:.1f}", f"{100 * each.moving:.1f}")
                for each in result.detection
            ),
        ),
        f"By `{COMMAND}`, on {result.machine}.",
    ]


def _samples(plans: Sequence[Plans]) -> str:
    return ", ".join(f"{10 * size} of K={size}" for size in sorted({plan.size for plan in plans}))
