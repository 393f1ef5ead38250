"""Models as people bring them: files of several frameworks, folders of other tools, objects in memory."""

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pandas as pd
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

import demur
from models.artefact import Artefact
from models.predictive import Categorical, Gaussian
from models.rows import executors
from models.tasks.rows.artefact.build import Built, Options, build
from models.tasks.rows.artefact.members import Group
from models.tasks.rows.artefact.recipe import Recipe
from models.tasks.rows.data import frames
from models.tasks.rows.data.table import Table
from models.tasks.rows.refusal import Refused
from models.tasks.rows.sources import files, lightgbm_source
from models.tasks.rows.sources.onnx_file import OnnxFile
from tests.models.rows.frameworks import trained
from tests.models.rows.worlds import Columns, Kind, world

FLOAT, STRING = TensorProto.FLOAT, TensorProto.STRING
PLAIN = Options()
WEIGHTS = np.array([2.0, 0.5, -1.0, 0.0, 0.0, 0.0], np.float32)


def labelled(kind: Kind = "regression", columns: Columns = "numeric", rows: int = 400, seed: int = 2) -> Table:
    frame, labels = world(rows, kind, columns, seed)
    return Table({**frames.table(frame, "rows").columns, **frames.labels(labels, "y", "y").columns}, "rows")


def built(at: Path, table: Table, *models: Path, options: Options = PLAIN, targets: tuple[str, ...] = ("y",)) -> Built:
    groups = [Group(targets, tuple(map(files.opened, models)))]
    return build(Recipe("made", table, targets), groups, at / "artefact", options)


def answers(artefact: Artefact, rows: NDArray[np.float32]) -> Any:
    """Return the statistics of the first head for rows."""
    opened = executors.of_artefact(artefact)
    opened.prepare(rows)
    return next(iter(opened.read(opened.plain(rows))[0].values()))


def graph(
    path: Path,
    nodes: list[Any],
    outputs: dict[str, int],
    inputs: dict[str, tuple[int, int]],
    *constants: Any,
    opset: int = 18,
) -> Path:
    """Write a graph.

    Args:
        outputs: widths by name.
        inputs: types and widths by name.
    """
    made = helper.make_graph(
        nodes,
        "made",
        [helper.make_tensor_value_info(name, kind, [None, width]) for name, (kind, width) in inputs.items()],
        [helper.make_tensor_value_info(name, FLOAT, [None, width]) for name, width in outputs.items()],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants],
    )
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("ai.onnx.ml", 3)]
    onnx.save(helper.make_model(made, opset_imports=opsets, ir_version=9), path)
    return path


def spread(path: Path, name: str, value: float) -> Path:
    """Write a linear model that also returns a constant spread under a name."""
    nodes = [
        helper.make_node("MatMul", ["rows", "w"], ["mean"]),
        helper.make_node("MatMul", ["rows", "zero"], ["nothing"]),
        helper.make_node("Add", ["nothing", "value"], [name]),
    ]
    weights, zero = WEIGHTS[:, None], np.zeros((6, 1), np.float32)
    constants = (("w", weights), ("zero", zero), ("value", np.float32(value)))
    return graph(path, nodes, {"mean": 1, name: 1}, {"rows": (FLOAT, 6)}, *constants)


@pytest.mark.parametrize(
    ("name", "value", "variance"),
    [
        ("variance", 4.0, 4.0),
        ("y_var", 4.0, 4.0),
        ("std", 2.0, 4.0),
        ("sigma", 2.0, 4.0),
        ("log_var", np.log(4.0), 4.0),
    ],
)
def test_a_second_output_is_a_spread_by_its_name(name: str, value: float, variance: float, tmp_path: Path) -> None:
    table = labelled()
    made = built(tmp_path, table, spread(tmp_path / "m.onnx", name, value))
    kinds = {candidate.kind: candidate for candidate in made.heads[0].choice.compared}
    assert kinds.keys() == {"native", "residual", "conformal"}
    np.testing.assert_allclose(kinds["native"].predictive.mvar, variance, rtol=1e-6)  # type: ignore[union-attr]


def test_outputs_without_telling_names_are_named_by_the_caller(tmp_path: Path) -> None:
    model = spread(tmp_path / "m.onnx", "second", 2.0)
    with pytest.raises(Refused, match="it is not clear what its outputs mean"):
        built(tmp_path, labelled(), model)
    made = built(tmp_path, labelled(), model, options=Options(words=("mean", "deviation")))
    assert made.artefact.manifest.outputs[0].name == "y"


def test_quantiles_are_named_by_their_levels(tmp_path: Path) -> None:
    shift = np.array([[-1.645, 0.0, 1.645]], np.float32)
    nodes = [helper.make_node("MatMul", ["rows", "w"], ["m"]), helper.make_node("Add", ["m", "shift"], ["out"])]
    constants = (("w", WEIGHTS[:, None]), ("shift", shift))
    model = graph(tmp_path / "m.onnx", nodes, {"out": 3}, {"rows": (FLOAT, 6)}, *constants)
    made = built(tmp_path, labelled(), model, options=Options(levels=(0.05, 0.5, 0.95)))
    native = next(c for c in made.heads[0].choice.compared if c.kind == "native")
    np.testing.assert_allclose(native.predictive.mvar, 1.0, rtol=1e-3)  # type: ignore[union-attr]
    with pytest.raises(Refused, match="must be ascending levels between 0 and 1"):
        built(tmp_path, labelled(), model, options=Options(levels=(0.95, 0.5, 0.05)))


@pytest.mark.parametrize("names", [("a", "b"), ("b", "a")])
def test_one_model_of_two_targets_and_one_model_each(tmp_path: Path, names: tuple[str, str]) -> None:
    frame, labels = world(400, seed=3)
    columns = frames.labels(pd.DataFrame(dict(zip(names, (labels, -labels), strict=True))), "y").columns
    table = Table({**frames.table(frame, "rows").columns, **columns}, "rows")
    weights = np.stack([WEIGHTS, -WEIGHTS], axis=1)
    nodes = [helper.make_node("MatMul", ["rows", "w"], ["out"])]
    both = graph(tmp_path / "m.onnx", nodes, {"out": 2}, {"rows": (FLOAT, 6)}, ("w", weights))
    joint = built(tmp_path, table, both, targets=names)
    single = [
        graph(tmp_path / f"{at}.onnx", nodes, {"out": 1}, {"rows": (FLOAT, 6)}, ("w", weights[:, [at]]))
        for at in (0, 1)
    ]
    groups = [Group((name,), (files.opened(path),)) for name, path in zip(names, single, strict=True)]
    apart = build(Recipe("made", table, names), groups, tmp_path / "apart")
    rows = joint.plan.rows[:50]
    for made in (joint, apart):
        opened = executors.of_artefact(made.artefact)
        predictives = opened.read(opened.plain(rows))[0]
        np.testing.assert_allclose(predictives[names[0]].mean, rows @ WEIGHTS, rtol=1e-4, atol=1e-4)  # type: ignore[attr-defined]
        np.testing.assert_allclose(predictives[names[1]].mean, rows @ -WEIGHTS, rtol=1e-4, atol=1e-4)  # type: ignore[attr-defined]


def test_several_files_are_members_whose_disagreement_is_knowledge(tmp_path: Path) -> None:
    nodes = [helper.make_node("MatMul", ["rows", "w"], ["out"])]
    paths = [
        graph(tmp_path / f"{at}.onnx", nodes, {"out": 1}, {"rows": (FLOAT, 6)}, ("w", (WEIGHTS + 0.1 * at)[:, None]))
        for at in range(3)
    ]
    made = built(tmp_path, labelled(), *paths)
    rows = made.plan.rows[:20]
    answer = answers(made.artefact, rows)
    members = np.stack([rows @ (WEIGHTS + np.float32(0.1 * at)) for at in range(3)])
    np.testing.assert_allclose(answer.varm, members.var(axis=0), rtol=1e-2, atol=1e-5)
    assert {candidate.kind for candidate in made.heads[0].choice.compared} == {"ensemble", "residual", "conformal"}


def test_a_column_for_each_input_of_several_types_and_old_operators(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Cast", ["whole"], ["w"], to=FLOAT),
        helper.make_node("Cast", ["double"], ["d"], to=FLOAT),
        helper.make_node(
            "LabelEncoder", ["city"], ["c"], domain="ai.onnx.ml", keys_strings=["ulm"], values_floats=[3.0]
        ),
        helper.make_node("Add", ["w", "d"], ["s"]),
        helper.make_node("Add", ["s", "c"], ["out"]),
    ]
    inputs = {"city": (STRING, 1), "whole": (TensorProto.INT64, 1), "double": (TensorProto.DOUBLE, 1)}
    model = graph(tmp_path / "m.onnx", nodes, {"out": 1}, inputs, opset=13)
    draw = np.random.default_rng(0)
    columns = {
        "double": draw.normal(size=300),
        "city": np.array(["ulm", "kiel"])[draw.integers(0, 2, 300)],
        "whole": draw.integers(0, 9, 300),
    }
    truth = columns["whole"] + columns["double"] + 3.0 * (columns["city"] == "ulm")
    table = frames.table(columns | {"y": truth + draw.normal(size=300)}, "rows")
    made = built(tmp_path, table, model)
    assert made.plan.schema.names == ("city", "whole", "double")  # the order of the model
    answer = answers(made.artefact, made.plan.rows)
    known = np.where(columns["city"] == "ulm", truth, truth)
    assert isinstance(answer, Gaussian)
    np.testing.assert_allclose(
        answer.mean[columns["city"] == "ulm"], known[columns["city"] == "ulm"], rtol=1e-5, atol=1e-5
    )


def saved_lightgbm(at: Path, model: Any) -> Path:
    model.booster_.save_model(str(at / "m.txt"))
    return at / "m.txt"


def saved_xgboost(suffix: str) -> Callable[[Path, Any], Path]:
    def save(at: Path, model: Any) -> Path:
        model.get_booster().save_model(str(at / f"m.{suffix}"))
        return at / f"m.{suffix}"

    return save


def saved_catboost(suffix: str) -> Callable[[Path, Any], Path]:
    def save(at: Path, model: Any) -> Path:
        model.save_model(str(at / f"m.{suffix}"), format=suffix)
        return at / f"m.{suffix}"

    return save


FILES: dict[str, tuple[Any, Columns, Callable[[Path, Any], Path]]] = {
    "lightgbm text": ("lightgbm", "numeric", saved_lightgbm),
    "lightgbm text with categories of pandas": ("lightgbm", "categorical", saved_lightgbm),
    "xgboost json": ("xgboost", "missing", saved_xgboost("json")),
    "xgboost ubj": ("xgboost", "numeric", saved_xgboost("ubj")),
    "catboost cbm": ("catboost", "numeric", saved_catboost("cbm")),
    "catboost cbm with categories": ("catboost", "categorical", saved_catboost("cbm")),
    "catboost json": ("catboost", "numeric", saved_catboost("json")),
    "catboost quantiles": ("quantile", "numeric", saved_catboost("cbm")),
}


@pytest.mark.parametrize("name", FILES)
def test_files_of_frameworks_answer_what_the_framework_predicts(name: str, tmp_path: Path) -> None:
    framework, columns, save = FILES[name]
    frame, labels = world(800, "regression", columns, seed=1)
    model = trained(framework, "regression", columns, frame, labels)
    table = labelled("regression", columns)
    made = built(tmp_path, table, save(tmp_path, model))
    own = np.asarray(model.predict(world(400, "regression", columns, seed=2)[0])).reshape(400, -1)
    answer = answers(made.artefact, made.plan.rows)
    np.testing.assert_allclose(answer.mean, own[:, own.shape[1] // 2], rtol=1e-4, atol=1e-4)


def test_a_variance_of_catboost_is_native_and_virtual_members_are_an_ensemble(tmp_path: Path) -> None:
    from catboost import CatBoostRegressor

    frame, labels = world(2000, seed=1)
    options = {"iterations": 100, "verbose": False, "allow_writing_files": False, "posterior_sampling": True}
    model = CatBoostRegressor(loss_function="RMSEWithUncertainty", **options).fit(frame, labels)
    model.save_model(str(tmp_path / "m.cbm"))
    made = built(tmp_path, labelled(), tmp_path / "m.cbm")
    assert "native" in {candidate.kind for candidate in made.heads[0].choice.compared}
    CatBoostRegressor(loss_function="RMSE", **options).fit(frame, labels).save_model(str(tmp_path / "r.cbm"))


def test_another_text_than_the_categories_is_accepted_by_catboost_and_lies_outside_training(tmp_path: Path) -> None:
    frame, labels = world(800, "regression", "categorical", seed=1)
    model = trained("catboost", "regression", "categorical", frame, labels)
    made = built(tmp_path, labelled("regression", "categorical"), saved_catboost("cbm")(tmp_path, model))
    feature = made.plan.schema.features[-1]
    assert (feature.other, feature.upper) == (True, 4.0)
    rows = made.plan.rows[:5].copy()
    rows[:, -1] = 4.0
    trained_range = made.artefact.manifest.training_range
    assert trained_range is not None
    assert trained_range.upper[-1] == 3.0
    expected = model.predict(
        frame.iloc[:0].reindex(range(5)).assign(**{f"x{p}": rows[:, p] for p in range(6)}, city="?")
    )
    np.testing.assert_allclose(answers(made.artefact, rows).mean, expected, rtol=1e-4, atol=1e-4)


def mlflow(at: Path, flavour: str, file: str, key: str = "data") -> Path:
    (at / "MLmodel").write_text(
        f"artifact_path: model\nflavors:\n  {flavour}:\n    {key}: {file}\n    code: null\n  python_function:\n"
        f"    loader_module: mlflow.{flavour}\n    python_version: 3.11.7\nmlflow_version: 3.1.0\n"
    )
    return at


def mlserver(at: Path, implementation: str, uri: str) -> Path:
    settings = {"name": "m", "implementation": implementation, "parameters": {"uri": uri, "version": "v1"}}
    (at / "model-settings.json").write_text(json.dumps(settings))
    return at


@pytest.mark.parametrize(
    ("framework", "saved", "described"),
    [
        ("lightgbm", "model.lgb", lambda at: mlflow(at, "lightgbm", "model.lgb")),
        ("xgboost", "model.ubj", lambda at: mlflow(at, "xgboost", "model.ubj")),
        ("catboost", "model.cb", lambda at: mlflow(at, "catboost", "model.cb")),
        ("lightgbm", "model.bst", lambda at: mlserver(at, "mlserver_lightgbm.LightGBMModel", "./model.bst")),
        ("xgboost", "model.json", lambda at: mlserver(at, "mlserver_xgboost.XGBoostModel", "./model.json")),
        ("catboost", "model.cbm", lambda at: mlserver(at, "mlserver_catboost.CatboostModel", "./model.cbm")),
    ],
)
def test_folders_of_mlflow_and_mlserver_are_read(
    framework: Any, saved: str, described: Callable[[Path], Path], tmp_path: Path
) -> None:
    frame, labels = world(500, seed=1)
    model = trained(framework, "regression", "numeric", frame, labels)
    folder = tmp_path / "model"
    folder.mkdir()
    if framework == "lightgbm":
        model.booster_.save_model(str(folder / saved))
    elif framework == "xgboost":
        model.get_booster().save_model(str(folder / saved))
    else:
        model.save_model(str(folder / saved), format="cbm")
    made = built(tmp_path, labelled(), described(folder))
    assert made.artefact.manifest.family == framework


@pytest.mark.parametrize(
    "described",
    [
        lambda at: mlflow(at, "sklearn", "model.pkl", "pickled_model"),
        lambda at: mlserver(at, "mlserver_sklearn.SKLearnModel", "./model.joblib"),
    ],
)
def test_folders_of_pickles_are_refused(described: Callable[[Path], Path], tmp_path: Path) -> None:
    for name in ("model.pkl", "model.joblib"):
        (tmp_path / name).write_bytes(pickle.dumps({}))
    with pytest.raises(Refused, match=r"holds a pickle.*demur\.build"):
        files.opened(described(tmp_path))


@pytest.mark.parametrize(
    ("described", "reason"),
    [
        (lambda at: at, "holds neither MLmodel of MLflow nor model-settings.json"),
        (
            lambda at: mlserver(at, "mlserver_huggingface.HuggingFaceRuntime", "./m"),
            "implementation = mlserver_h",
        ),
        (
            lambda at: mlserver(at, "mlserver_xgboost.XGBoostModel", "s3://bucket/m.json"),
            "is at another place",
        ),
        (lambda at: mlserver(at, "mlserver_xgboost.XGBoostModel", "./nothing.json"), "no model file there"),
        (lambda at: mlflow(at, "spark", "sparkml"), "MLflow flavours spark, python_function"),
    ],
)
def test_other_folders_are_refused(described: Callable[[Path], Path], reason: str, tmp_path: Path) -> None:
    with pytest.raises(Refused, match=reason):
        files.opened(described(tmp_path))


def test_regressors_of_mapie_bring_their_estimators(tmp_path: Path) -> None:
    from mapie.regression import ConformalizedQuantileRegressor, SplitConformalRegressor
    from sklearn.ensemble import GradientBoostingRegressor
    from sklearn.linear_model import LinearRegression

    frame, labels = world(600, seed=1)
    x, y = frame.to_numpy(), labels
    split = SplitConformalRegressor(LinearRegression(), confidence_level=0.9, prefit=False)
    quantile = ConformalizedQuantileRegressor(
        GradientBoostingRegressor(loss="quantile", n_estimators=20), confidence_level=0.9, prefit=False
    )
    calibration, truth = world(400, seed=2)
    for name, model in {"split": split, "quantile": quantile}.items():
        model.fit(x[:300], y[:300]).conformalize(x[300:], y[300:])
        made = demur.build(model, calibration.to_numpy(), truth, name=name, home=tmp_path, out=tmp_path / name)
        artefact = made.stored.built.artefact
        rows = calibration.to_numpy(np.float32)
        if name == "split":
            np.testing.assert_allclose(answers(artefact, rows).mean, model.predict(rows), rtol=1e-4, atol=1e-4)
        else:
            assert "native" in {candidate.kind for candidate in made.stored.built.heads[0].choice.compared}


@pytest.mark.parametrize("form", ["pandas", "polars", "mapping", "array"])
def test_rows_in_memory_come_as_frames_mappings_and_arrays(form: str, tmp_path: Path) -> None:
    import polars
    from sklearn.linear_model import LinearRegression

    frame, labels = world(400, seed=1)
    model = LinearRegression().fit(frame.to_numpy(), labels)
    rows: Any = {
        "pandas": frame,
        "polars": polars.from_pandas(frame),
        "mapping": {name: frame[name].to_numpy() for name in frame},
        "array": frame.to_numpy(),
    }[form]
    made = demur.build(model, rows, labels, name="plain", home=tmp_path)
    assert made.stored.built.plan.schema.names == tuple(frame.columns)
    assert "serve it: demur serve rows --model plain" in str(made)


def test_a_classifier_with_a_zip_map_and_one_with_a_single_probability(tmp_path: Path) -> None:
    from skl2onnx import to_onnx
    from sklearn.linear_model import LogisticRegression

    frame, labels = world(400, "binary", seed=1)
    model = LogisticRegression().fit(frame.to_numpy(), labels)
    onnx.save(to_onnx(model, frame.to_numpy(np.float32)[:1], target_opset=17), tmp_path / "m.onnx")
    made = built(tmp_path, labelled("binary"), tmp_path / "m.onnx")
    assert made.artefact.manifest.outputs[0].class_names == ("no", "yes")
    answer = answers(made.artefact, made.plan.rows)
    assert isinstance(answer, Categorical)
    nodes = [helper.make_node("MatMul", ["rows", "w"], ["m"]), helper.make_node("Sigmoid", ["m"], ["p"])]
    single = graph(tmp_path / "s.onnx", nodes, {"p": 1}, {"rows": (FLOAT, 6)}, ("w", WEIGHTS[:, None]))
    one = built(tmp_path, labelled("binary"), single)
    assert one.artefact.manifest.outputs[0].classes == 2


def test_values_at_the_thresholds_of_lightgbm_go_the_way_of_the_booster() -> None:
    import onnxruntime
    from lightgbm import LGBMRegressor

    generator = np.random.default_rng(3)
    rows = np.round(generator.normal(size=(2000, 4)), 2).astype(np.float32)
    model = LGBMRegressor(n_estimators=40, min_child_samples=2, verbose=-1).fit(rows, rows[:, 0] * rows[:, 1])
    text = model.booster_.model_to_string()
    lines = (line.split("=")[1].split() for line in text.splitlines() if line.startswith("threshold="))
    thresholds = np.array([float(word) for line in lines for word in line])
    nearest = thresholds.astype(np.float32)
    assert (nearest > thresholds).mean() > 0.1
    hard = generator.choice(nearest[np.abs(nearest) > 1e-30], size=(3000, 4))  # LightGBM takes smaller values for 0
    converted = lightgbm_source.of_booster(model.booster_, "model").model
    assert isinstance(converted, OnnxFile)
    session = onnxruntime.InferenceSession(converted.model.SerializeToString())
    served = session.run(None, {session.get_inputs()[0].name: hard})[0].ravel()
    np.testing.assert_allclose(served, model.predict(hard), rtol=1e-5, atol=1e-5)


def test_classes_of_an_overconfident_model_are_verified_before_their_temperature(tmp_path: Path) -> None:
    """Its probabilities end near 1e-7, where a temperature makes 1e-3 of what single precision leaves out."""
    from lightgbm import LGBMClassifier
    from sklearn.datasets import load_breast_cancer

    rows, labels = load_breast_cancer(return_X_y=True)
    order = np.random.default_rng(3).permutation(len(rows))
    frame = pd.DataFrame(rows[order].astype(np.float32)).add_prefix("c")
    model = LGBMClassifier(n_estimators=200, verbose=-1, random_state=3).fit(frame[:227], labels[order][:227])
    made = demur.build(
        model, frame[227:397], labels[order][227:397], name="tumour", home=tmp_path, out=tmp_path / "artefact"
    )
    (plan,) = made.stored.built.heads
    assert plan.choice.chosen.temperature > 2
    assert made.stored.built.check.apart == ()
