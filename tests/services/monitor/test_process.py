"""From a ledger to judged windows."""

from __future__ import annotations

import numpy as np
import pytest

from models.assessment.figures import Errors, Rules, figures
from tests.services.monitor.simulated import BEGIN, HEAD, simulate
from tests.services.monitor.conftest import Scene
from tests.services.monitor.watching import words


def test_with_all_labels_the_live_figures_are_those_of_demur_evaluate(scene: Scene) -> None:
    stream = simulate(5000, rate=1.0)
    book = scene.book()
    first = book.decide(stream)
    now = float(stream.time[-1]) + 1
    book.label(range(first, first + len(stream)), stream.error.tolist(), now)
    book.beat(now)
    watch = scene.watch(now)
    found = watch.window()
    truth = figures(Errors(stream.error, HEAD.acceptable, Rules()), stream.uncertainty)
    assert found.valid, found.reasons
    assert found.units == found.labels == len(stream)
    for name in ("r_auc", "f1_auc", "f1_at_95"):
        assert found.figures[name].estimate == pytest.approx(getattr(truth, name), rel=1e-9)
    assert found.figures["mean_error"].estimate == pytest.approx(truth.error, rel=1e-9)
    assert found.references["r_auc_optimal"] == pytest.approx(truth.r_auc_optimal, rel=1e-9)
    assert found.abstained == pytest.approx(stream.deferred.mean())
    assert words(found) == set()
    assert np.isfinite(found.drift.psi)
    assert BEGIN < found.end <= now
