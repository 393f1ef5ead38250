"""CatBoost's own evaluator behind the contract of members: heads, virtual members, refusals."""

from pathlib import Path

import numpy as np
import pytest
from scipy.special import softmax

from models.artefact import ArtefactError
from models.executors.trees.link import gaussian
from models.executors.trees.model import open_model
from models.executors.trees.native import NativeTrees
from models.tasks.weather.spec import PRECIPITATION, TEMPERATURE
from tests.models.executors.trees.training import FEATURES, rows, saved, schema, train, trained


def test_members_say_mean_and_variance_and_probabilities_of_all_classes(tmp_path: Path) -> None:
    warm = [trained(tmp_path, "RMSEWithUncertainty", f"{seed}.cbm", seed) for seed in range(2)]
    wet = trained(tmp_path, "MultiClass", "wet.cbm")
    inputs = rows(50, 3)
    executor = NativeTrees({"temperature": warm, "precipitation": [wet]})
    assert executor.heads == ("temperature", "precipitation")
    outputs = executor(inputs)
    assert {head: (values.shape, values.dtype) for head, values in outputs.items()} == {
        "temperature": ((2, 50, 2), np.float32),
        "precipitation": ((1, 50, 9), np.float32),
    }
    for member, model in zip(outputs["temperature"], warm, strict=True):
        theirs = model.native.predict(inputs, prediction_type="RMSEWithUncertainty", thread_count=1)
        np.testing.assert_allclose(member, theirs, rtol=1e-6)
    probabilities = wet.native.predict(inputs, prediction_type="Probability", thread_count=1)
    np.testing.assert_allclose(outputs["precipitation"][0][:, [0, 1, 2, 4, 7]], probabilities, rtol=1e-6)
    assert (outputs["precipitation"][0][:, [3, 5, 6, 8]] == 0).all()


def test_classes_that_were_declared_but_never_seen_have_probability_zero(tmp_path: Path) -> None:
    model = saved(tmp_path, train("MultiClass", rows(300), classes_count=9), PRECIPITATION)
    actual = NativeTrees({"precipitation": [model]})(rows(20, 1))["precipitation"][0]
    expected = model.native.predict(rows(20, 1), prediction_type="Probability", thread_count=1)
    np.testing.assert_allclose(actual, expected, rtol=1e-6, atol=1e-300)
    assert list(np.flatnonzero(actual.any(axis=0))) == [0, 1, 2, 4, 7]


@pytest.mark.parametrize("langevin", [{}, {"posterior_sampling": True}, {"langevin": True, "model_shrink_rate": 0.05}])
@pytest.mark.parametrize("loss", ["RMSEWithUncertainty", "MultiClass"])
def test_virtual_members_are_those_of_the_library(tmp_path: Path, loss: str, langevin: dict[str, object]) -> None:
    """For both losses and any number of trees; the library tells variances, and logits of the classes seen."""
    model = trained(tmp_path, loss, iterations=43, **langevin)
    inputs = rows(30, 5)
    actual = NativeTrees({"head": [model]}, virtual=4)(inputs)["head"]
    theirs = model.native.virtual_ensembles_predict(
        inputs, prediction_type="VirtEnsembles", virtual_ensembles_count=4, thread_count=1
    ).transpose(1, 0, 2)
    if loss == "MultiClass":
        theirs = softmax(theirs, axis=-1)
        actual = actual[..., [0, 1, 2, 4, 7]]
    np.testing.assert_allclose(actual, theirs, rtol=2e-6)


def test_no_rows_give_no_answers(tmp_path: Path) -> None:
    model = trained(tmp_path, "RMSEWithUncertainty")
    assert NativeTrees({"temperature": [model]}, virtual=3)(rows(0))["temperature"].shape == (3, 0, 2)


def test_extreme_variances_stay_finite_and_positive() -> None:
    """Released models reach 1e-16 and 1e37; beyond float32 they saturate."""
    logs = np.log([1e-16, 1e37, 1e-300, 1e300]) / 2
    raw = [*logs, -np.inf, np.inf, -1e4, 1e4]
    result = gaussian(np.stack([np.zeros(len(raw)), raw], axis=-1)[None])[0]
    np.testing.assert_allclose(result[:2, 1], [1e-16, 1e37], rtol=1e-6)
    assert np.isfinite(result).all()
    assert (result[:, 1] > 0).all()


def test_a_model_without_its_training_parameters_is_not_cut(tmp_path: Path) -> None:
    from catboost import sum_models

    single = train("RMSEWithUncertainty", rows(300))
    model = saved(tmp_path, sum_models([single, single]), TEMPERATURE)
    NativeTrees({"temperature": [model]})
    with pytest.raises(ArtefactError, match="tells no training parameters"):
        NativeTrees({"temperature": [model]}, virtual=2)


def test_too_few_trees_for_so_many_virtual_members_are_refused(tmp_path: Path) -> None:
    model = trained(tmp_path, "RMSEWithUncertainty", iterations=7)
    with pytest.raises(ArtefactError, match=r"model\.cbm: 7 trees .* 4 virtual members; at least 8"):
        NativeTrees({"temperature": [model]}, virtual=4)


class TestRefusals:
    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        return trained(tmp_path, "RMSEWithUncertainty").path

    @pytest.mark.parametrize("damage", [slice(0, 0), slice(0, 4), slice(0, 5000), slice(100, None)])
    def test_damaged_files(self, path: Path, damage: slice) -> None:
        path.write_bytes(path.read_bytes()[damage])
        with pytest.raises(ArtefactError, match=r"model\.cbm: no readable CatBoost model"):
            open_model(path, TEMPERATURE, schema())

    def test_missing_files(self, tmp_path: Path) -> None:
        with pytest.raises(ArtefactError, match=r"none\.cbm: no readable CatBoost model"):
            open_model(tmp_path / "none.cbm", TEMPERATURE, schema())

    def test_another_loss(self, path: Path, tmp_path: Path) -> None:
        with pytest.raises(ArtefactError, match="loss RMSEWithUncertainty, head 'precipitation' needs MultiClass"):
            open_model(path, PRECIPITATION, schema())
        train("RMSEWithUncertainty", rows(100), loss_function="RMSE").save_model(str(tmp_path / "rmse.cbm"))
        with pytest.raises(ArtefactError, match="loss RMSE, head 'temperature' needs RMSEWithUncertainty"):
            open_model(tmp_path / "rmse.cbm", TEMPERATURE, schema())

    def test_another_number_of_features(self, path: Path) -> None:
        fewer = schema(tuple(schema().names[1:]))
        with pytest.raises(ArtefactError, match=f"takes {FEATURES} features, the schema has {FEATURES - 1}"):
            open_model(path, TEMPERATURE, fewer)

    def test_names_of_features_in_another_order(self, tmp_path: Path) -> None:
        names = list(schema().names)
        model = train("RMSEWithUncertainty", rows(100), names=names[::-1])
        model.save_model(str(tmp_path / "named.cbm"))
        open_model(tmp_path / "named.cbm", TEMPERATURE, schema(tuple(names[::-1])))
        with pytest.raises(ArtefactError, match="feature 0 is 'feature_6', the schema has 'feature_0' there"):
            open_model(tmp_path / "named.cbm", TEMPERATURE, schema())

    def test_labels_that_are_no_classes(self, tmp_path: Path) -> None:
        from catboost import CatBoost, Pool

        codes = np.arange(100) % 9 * 11
        settings = {"loss_function": "MultiClass", "iterations": 3, "thread_count": 1}
        model = CatBoost(settings | {"allow_writing_files": False, "verbose": False})
        model.fit(Pool(rows(100), codes)).save_model(str(tmp_path / "codes.cbm"))
        with pytest.raises(ArtefactError, match="label 11 is no class of head 'precipitation': train on 0 to 8"):
            open_model(tmp_path / "codes.cbm", PRECIPITATION, schema())

    def test_categorical_features(self, tmp_path: Path) -> None:
        from catboost import CatBoost, Pool

        table = [["a" if value > 0 else "b", *row[1:]] for value, row in zip(rows(100)[:, 0], rows(100), strict=True)]
        settings = {"loss_function": "RMSEWithUncertainty", "iterations": 3, "thread_count": 1}
        model = CatBoost(settings | {"allow_writing_files": False, "verbose": False})
        model.fit(Pool(table, np.arange(100.0), cat_features=[0])).save_model(str(tmp_path / "kinds.cbm"))
        with pytest.raises(ArtefactError, match="feature '0' is categorical"):
            open_model(tmp_path / "kinds.cbm", TEMPERATURE, schema())
