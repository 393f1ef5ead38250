"""Training learns, is repeatable, keeps members apart and stops them one by one."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from models.tasks.vessel.artefact.ensemble import FAMILIES, Scaling, TrainedEnsemble
from models.tasks.vessel.data.table import NAMES
from models.tasks.vessel.networks import families
from models.tasks.vessel.training.train import FAST, FULL, Progress, Settings, VesselTraining, train
from models.training import loop

SHORT = Settings(epochs=1, batch=256, rate=5e-3, patience=1, max_rows=2000)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_learns(family, trained, data) -> None:
    ensemble = trained(family, 3)
    spread = np.abs(data["dev_in"].power - np.median(data["dev_in"].power)).mean()
    assert ensemble.training["best_dev_in_mae_kw"] < 0.4 * spread


def test_the_same_seed_gives_the_same_weights_and_another_one_others(data) -> None:
    first, second = (train("mc_dropout", data, members=2, seed=5, settings=SHORT) for _ in range(2))
    other = train("mc_dropout", data, members=2, seed=6, settings=SHORT)
    for name, array in first.weights.items():
        np.testing.assert_array_equal(array, second.weights[name])
    assert not np.array_equal(first.weights["w1"], other.weights["w1"])
    assert not np.array_equal(first.weights["w1"][0], first.weights["w1"][1])


def test_a_member_trains_the_same_alone_and_in_company(data) -> None:
    together = train("dnn", data, members=3, seed=5, settings=SHORT)
    alone = train("dnn", data, members=1, seed=5, settings=SHORT)
    np.testing.assert_allclose(alone.weights["w2"][0], together.weights["w2"][0], rtol=1e-3, atol=1e-4)


def test_the_best_of_each_member_is_kept_and_a_patient_one_trains_on(monkeypatch: pytest.MonkeyPatch) -> None:
    history = iter(enumerate([[1.0, 5.0], [2.0, 4.0], [3.0, 3.0], [0.5, 2.0]]))

    def scripted(self: VesselTraining, network: families.Dense, stage: int) -> torch.Tensor:
        epoch, mae = next(history)
        network.b3.data.fill_(float(epoch))
        return torch.tensor(mae)

    monkeypatch.setattr(VesselTraining, "score", scripted)
    rows = torch.zeros(8, 10), torch.zeros(8)
    scaling = Scaling(np.zeros(10), np.ones(10), 0.0, 1.0)
    settings = Settings(epochs=4, batch=8, rate=1e-3, patience=1)
    reports: list[loop.Progress] = []
    state = loop.fit(VesselTraining("dnn", settings, 0, (0, 1), scaling, rows, rows), reports.append)
    assert state.best["b3"][:, 0, 0].tolist() == [0.0, 3.0], "member 0 was frozen before its fourth epoch"
    assert state.best_score.tolist() == [1.0, 2.0]
    assert [report.active for report in reports] == [2, 2, 1, 1]


def test_progress_tells_each_epoch(data) -> None:
    seen: list[Progress] = []
    train("dnn", data, members=1, seed=0, settings=replace(SHORT, epochs=3, patience=3), progress=seen.append)
    assert [report.epoch for report in seen] == [1, 2, 3]
    assert seen[-1].eta == 0
    assert seen[-1].loss < seen[0].loss
    assert "dev_in MAE" in str(seen[0])


def test_presets() -> None:
    assert (FULL.rate, FULL.batch, FULL.epochs, FULL.patience) == (1e-4, 32, 200, 4), "the paper's"
    assert FAST.epochs < FULL.epochs


def test_the_released_scaling_divides_dry_dock_time_only(data) -> None:
    table = data["train"]
    scaling = Scaling.fit(NAMES, table.features, table.power)
    assert (scaling.mean[-1], scaling.std[-1]) == (0.0, 4_324_320.0)
    assert scaling.std[2] == pytest.approx(np.std(table.features[:, 2].astype(float), ddof=1))
    with pytest.raises(ValueError, match="stw"):
        Scaling.fit(NAMES, np.where(np.arange(10) == 2, 1.0, table.features), table.power)


def test_what_cannot_be_an_ensemble_is_refused(data) -> None:
    with pytest.raises(ValueError, match="at least one member"):
        train("dnn", data, members=0)
    with pytest.raises(ValueError, match="use one of dnn"):
        train("forest", data, members=1)
    with pytest.raises(ValueError, match="missing: dev_in"):
        train("dnn", {"train": data["train"]}, members=1)
    scaling = Scaling(np.zeros(10), np.ones(10), 0.0, 1.0)
    with pytest.raises(ValueError, match="disagree"):
        TrainedEnsemble("dnn", scaling, {"w1": np.zeros((2, 1, 1), np.float32)}, (0,))
    with pytest.raises(ValueError, match="nothing to sample"):
        TrainedEnsemble("dnn", scaling, {"w1": np.zeros((1, 1, 1), np.float32)}, (0,), samples=2)
