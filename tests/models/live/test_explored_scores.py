"""Units that were no real question are counted, and their scores compared with in-domain data."""

import numpy as np
import pytest

from models.calibration import REFERENCE_LEVELS, reference_quantiles
from models.drift.bins import of_quantiles
from models.drift.psi import shift
from models.live.drift import HOUR_SECONDS, HOURS, ExploredScores
from services.ledger.segments import histogram, pack_histogram, unpack_histogram

RNG = np.random.default_rng(4)
IN_DOMAIN = RNG.lognormal(0, 1, 20_000).astype(np.float32)
VALUES = reference_quantiles(IN_DOMAIN)
KNOWN = of_quantiles(VALUES, REFERENCE_LEVELS, len(IN_DOMAIN))


def counted(scores: np.ndarray) -> np.ndarray:
    """As a ledger brings them."""
    return unpack_histogram(pack_histogram(histogram(VALUES, scores)))


def test_the_index_is_that_of_the_scores_themselves() -> None:
    scores = np.append(RNG.lognormal(0.3, 1, 5000), [np.nan, np.inf, 0.0]).astype(np.float32)
    explored = ExploredScores(KNOWN, VALUES)
    for part in np.array_split(scores, 3):
        explored.add("explore", 10.0, len(part), counted(part))
    whole = shift(np.asarray(KNOWN.counts), KNOWN.bins.count(scores))
    assert explored.shifts()["explore"].psi == pytest.approx(whole.psi, rel=1e-12)
    assert explored.units == {"explore": 5003}


def test_in_domain_scores_do_not_stand_out_and_others_do() -> None:
    explored = ExploredScores(KNOWN, VALUES)
    explored.add("replay", 0.0, 5000, counted(RNG.lognormal(0, 1, 5000).astype(np.float32)))
    explored.add("explore", 0.0, 5000, counted(RNG.lognormal(1, 1, 5000).astype(np.float32)))
    assert explored.shifts()["replay"].psi < 0.02
    assert explored.shifts()["explore"].psi > 0.5


def test_a_day_is_remembered() -> None:
    explored = ExploredScores(KNOWN, VALUES)
    explored.add("explore", 0.0, 5000, counted(RNG.lognormal(1, 1, 5000).astype(np.float32)))
    explored.add("explore", HOURS * HOUR_SECONDS, 5000, counted(IN_DOMAIN[:5000]))
    assert explored.shifts()["explore"].units == 5000
    assert explored.units["explore"] == 10_000


def test_without_a_reference_units_are_counted_only() -> None:
    explored = ExploredScores(None, ())
    explored.add("explore", 0.0, 7, None)
    assert (explored.units["explore"], explored.shifts()) == (7, {})
