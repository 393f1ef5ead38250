"""The evaluator of the services: equal to the library on any rows, with and without the kernel."""

import shutil
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from models.artefact import ArtefactError
from models.compiled import build
from models.executors.trees import ensemble, kernel, library
from models.executors.trees.ensemble import TreeEnsemble
from models.executors.trees.model import TreeModel
from models.tasks.weather.spec import PRECIPITATION, TEMPERATURE
from tests.models.executors.trees.training import FEATURES, rows, saved, schema, train, trained

HEADS = {"temperature": TEMPERATURE, "precipitation": PRECIPITATION}
HEAD_OF = {"RMSEWithUncertainty": "temperature", "MultiClass": "precipitation"}


@pytest.fixture(scope="session", autouse=True)
def _built() -> None:
    """A checkout without a compiler cannot test the kernel; an installed one has it."""
    if kernel.load() is None:
        build(Path(kernel.__file__).parent)


def both(models: Mapping[str, list[TreeModel]], **settings: Any) -> tuple[TreeEnsemble, TreeEnsemble]:
    """Tables, and the library alone."""
    paths = {head: [model.path for model in some] for head, some in models.items()}
    own = TreeEnsemble(paths, HEADS, schema(), **settings)
    assert own.why_native == ""
    return own, TreeEnsemble(paths, HEADS, schema(), fast=False, **settings)


def assert_equal(own: TreeEnsemble, native: TreeEnsemble, inputs: NDArray[np.float32]) -> None:
    """To 1e-5 relative; means near zero, relative to the median magnitude."""
    actual, expected = own(inputs), native(inputs)
    assert actual.keys() == expected.keys()
    for head, values in expected.items():
        assert actual[head].dtype == np.float32
        scale = np.median(np.abs(values[..., 0])) if head == "temperature" and values.size else 0.0
        np.testing.assert_allclose(actual[head], values, rtol=1e-5, atol=1e-5 * scale)


def on_borders(model: TreeModel, count: int, seed: int) -> NDArray[np.float32]:
    """Rows of values exactly on borders, next to them, missing and infinite ones."""
    draw = np.random.default_rng(seed)
    borders = model.native.get_borders()
    inputs = rows(count, seed, missing=0.1)
    for feature, own in borders.items():
        if own:
            drawn = draw.choice(np.array(own, np.float32), count)
            beside = np.nextafter(drawn, draw.choice(np.array([-1e30, 1e30], np.float32), count))
            inputs[:, feature] = np.select(
                [draw.random(count) < 0.4, draw.random(count) < 0.6], [drawn, beside], np.nan
            )
    inputs[draw.random(inputs.shape) < 0.02] = np.inf
    inputs[draw.random(inputs.shape) < 0.02] = -np.inf
    return inputs


@pytest.mark.parametrize("depth", [1, 2, 5, 6, 7, 8, 9, 10])
@pytest.mark.parametrize("loss", HEAD_OF)
def test_tables_say_what_the_library_says(tmp_path: Path, loss: str, depth: int) -> None:
    models = [trained(tmp_path, loss, f"{seed}.cbm", seed, depth=depth, iterations=19) for seed in range(2)]
    own, native = both({HEAD_OF[loss]: models})
    for count in (1, 3, 4, 63, 64, 65, 130):
        assert_equal(own, native, on_borders(models[0], count, count))


@pytest.mark.parametrize("count", [1, 7, 8, 9, 63, 64, 65, 129])
def test_any_number_of_trees(tmp_path: Path, count: int) -> None:
    """Around the sizes of the kernel's tiles."""
    model = trained(tmp_path, "RMSEWithUncertainty", iterations=count, depth=3)
    own, native = both({"temperature": [model]})
    assert_equal(own, native, rows(1, 2))
    assert_equal(own, native, rows(70, 2))


@pytest.mark.parametrize("mode", ["Min", "Max", "Forbidden"])
def test_missing_values_go_as_in_training(tmp_path: Path, mode: str) -> None:
    inputs = rows(400, missing=0.0 if mode == "Forbidden" else 0.2)
    model = saved(tmp_path, train("RMSEWithUncertainty", inputs, nan_mode=mode), TEMPERATURE)
    own, native = both({"temperature": [model]})
    assert_equal(own, native, np.full((3, FEATURES), np.nan, np.float32))
    assert_equal(own, native, on_borders(model, 200, 1))


def test_members_that_treat_missing_values_differently_share_rows(tmp_path: Path) -> None:
    modes = ("Min", "Max", "Min")
    models = [trained(tmp_path, "RMSEWithUncertainty", f"{n}.cbm", nan_mode=mode) for n, mode in enumerate(modes)]
    own, native = both({"temperature": models})
    assert_equal(own, native, rows(100, 4, missing=0.3))


def test_members_with_many_borders_of_their_own_are_grouped(tmp_path: Path) -> None:
    """Together more than 255 borders a feature: several binarisations, the same answers."""
    settings = {"border_count": 250, "iterations": 150, "depth": 6}
    models = []
    for seed in range(3):
        features = rows(2000, seed)[:, :1].repeat(FEATURES, axis=1)
        features[:, 1:] = 0
        models.append(saved(tmp_path, train("RMSEWithUncertainty", features, **settings), TEMPERATURE, f"{seed}.cbm"))
    own, native = both({"temperature": models})
    assert own._tables is not None
    assert len(own._tables._groups) > 1
    assert_equal(own, native, rows(100, 8))


def test_few_borders_and_classes_never_seen(tmp_path: Path) -> None:
    model = saved(tmp_path, train("MultiClass", rows(300), border_count=1, classes_count=9), PRECIPITATION)
    own, native = both({"precipitation": [model]})
    assert_equal(own, native, rows(100, 1))


def test_members_may_have_seen_different_classes(tmp_path: Path) -> None:
    from catboost import CatBoost, Pool

    settings = {"loss_function": "MultiClass", "iterations": 10, "thread_count": 1, "verbose": False}
    models = []
    for number, classes in enumerate(([0, 1, 2], [0, 5, 8], [0, 1, 2])):
        model = CatBoost(settings | {"allow_writing_files": False})
        model.fit(Pool(rows(300, number), np.array(classes)[np.arange(300) % 3]))
        models.append(saved(tmp_path, model, PRECIPITATION, f"{number}.cbm"))
    own, native = both({"precipitation": models})
    assert_equal(own, native, rows(50, 1))
    assert list(np.flatnonzero(own(rows(50, 1))["precipitation"][1].any(axis=0))) == [0, 5, 8]


def test_nine_classes(tmp_path: Path) -> None:
    from catboost import CatBoost, Pool

    settings = {"loss_function": "MultiClass", "iterations": 20, "depth": 6, "thread_count": 1, "verbose": False}
    model = CatBoost(settings | {"allow_writing_files": False})
    model.fit(Pool(rows(500), np.arange(500) % 9))
    own, native = both({"precipitation": [saved(tmp_path, model, PRECIPITATION)]})
    assert_equal(own, native, rows(200, 1))


@pytest.mark.parametrize("virtual", [0, 3])
def test_heads_and_virtual_members_come_out_of_one_pass(tmp_path: Path, virtual: int) -> None:
    warm = [trained(tmp_path, "RMSEWithUncertainty", f"{seed}.cbm", seed, posterior_sampling=True) for seed in range(2)]
    wet = trained(tmp_path, "MultiClass", "wet.cbm")
    own, native = both({"temperature": warm, "precipitation": [wet]}, virtual=virtual)
    outputs = own(rows(5))
    assert outputs["temperature"].shape == (2 * (virtual or 1), 5, 2)
    assert outputs["precipitation"].shape == (virtual or 1, 5, 9)
    for count in (0, 1, 90):
        assert_equal(own, native, rows(count, 1))


def test_extreme_variances_are_exact(tmp_path: Path) -> None:
    model = train("RMSEWithUncertainty", rows(300))
    for exponent in (-16, 37, -60, 60):
        model.set_scale_and_bias(1.0, [0.0, exponent * np.log(10) / 2])
        own, native = both({"temperature": [saved(tmp_path, model, TEMPERATURE)]})
        assert_equal(own, native, rows(50, 1))
        variance = own(rows(50, 1))["temperature"][..., 1]
        assert np.isfinite(variance).all()
        assert (variance > 0).all()


def test_a_row_has_the_same_bits_alone_and_among_others(tmp_path: Path) -> None:
    """So an answer does not depend on who else asks."""
    models = [trained(tmp_path, "RMSEWithUncertainty", depth=8), trained(tmp_path, "MultiClass", "wet.cbm", depth=9)]
    own, _ = both({"temperature": models[:1], "precipitation": models[1:]})
    inputs = rows(5000, 3)
    together = own(inputs)
    for index in (0, 17, 1024, 4097, 4999):
        alone = own(inputs[index : index + 1])
        for head in own.heads:
            np.testing.assert_array_equal(alone[head][:, 0], together[head][:, index])


def test_rows_of_any_layout(tmp_path: Path) -> None:
    own, native = both({"temperature": [trained(tmp_path, "RMSEWithUncertainty")]})
    inputs = rows(20, 1)
    wide = np.repeat(inputs, 2, axis=1)[:, ::2]
    np.testing.assert_array_equal(own(np.asfortranarray(inputs))["temperature"], own(inputs)["temperature"])
    np.testing.assert_array_equal(own(wide)["temperature"], own(inputs)["temperature"])
    np.testing.assert_array_equal(native(wide)["temperature"], native(inputs)["temperature"])
    with pytest.raises(ValueError, match="columns are needed"):
        own(inputs[:, :1])


def test_threads_do_not_disturb_each_other(tmp_path: Path) -> None:
    own, _ = both({"temperature": [trained(tmp_path, "RMSEWithUncertainty", iterations=100)]})
    batches = [rows(count, count) for count in (1, 2, 70, 300)]
    expected = [own(inputs)["temperature"] for inputs in batches]
    wrong: list[int] = []

    def ask() -> None:
        for _ in range(50):
            for number, batch in enumerate(batches):
                if not np.array_equal(own(batch)["temperature"], expected[number]):
                    wrong.append(number)

    callers = [threading.Thread(target=ask) for _ in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert wrong == []


def test_without_the_kernel_all_goes_natively(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = trained(tmp_path, "RMSEWithUncertainty")
    own, _ = both({"temperature": [model]})
    monkeypatch.setattr(kernel, "_FOLDER", tmp_path)
    native = TreeEnsemble({"temperature": [model.path]}, HEADS, schema())
    assert (native.why_native, native.nbytes) == ("no compiled kernel", 0)
    assert_equal(own, native, rows(30))
    native.measure(rows(10))
    assert native.crossover is None


@pytest.mark.parametrize("damage", [b"", b"no library", None])
def test_a_kernel_that_is_none_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: bytes | None
) -> None:
    """Damaged, or made from another version of its source."""
    source = (Path(kernel.__file__).parent / "kernel.c").read_text()
    other = source.replace(f"#define VERSION {kernel._VERSION} ", "#define VERSION 99 ")
    assert other != source
    (tmp_path / "kernel.c").write_text(other)
    shutil.copy(Path(kernel.__file__).parent / "one_row.h", tmp_path)
    built = build(tmp_path)
    if damage is not None:
        built.write_bytes(damage)
    monkeypatch.setattr(kernel, "_FOLDER", tmp_path)
    assert kernel.load() is None


def test_trees_that_are_not_oblivious_go_natively(tmp_path: Path) -> None:
    model = trained(tmp_path, "RMSEWithUncertainty", grow_policy="Lossguide")
    own = TreeEnsemble({"temperature": [model.path]}, HEADS, schema())
    assert "not oblivious" in own.why_native
    theirs = model.native.predict(rows(20), prediction_type="RMSEWithUncertainty", thread_count=1)
    np.testing.assert_allclose(own(rows(20))["temperature"][0], theirs, rtol=1e-6)


def test_tables_that_disagree_are_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from models.executors.trees import agreement

    model = trained(tmp_path, "RMSEWithUncertainty")
    read = agreement.read_trees

    def misread(path: Path) -> Any:
        trees = read(path)
        trees.splits.flags.writeable = False
        object.__setattr__(trees, "splits", trees.splits[::-1].copy())
        return trees

    monkeypatch.setattr(agreement, "read_trees", misread)
    own = TreeEnsemble({"temperature": [model.path]}, HEADS, schema())
    assert "tables differ from the library by" in own.why_native
    theirs = model.native.predict(rows(20), prediction_type="RMSEWithUncertainty", thread_count=1)
    np.testing.assert_allclose(own(rows(20))["temperature"][0], theirs, rtol=1e-6)


def test_a_bad_file_is_refused_whichever_it_is(tmp_path: Path) -> None:
    good, bad = trained(tmp_path, "RMSEWithUncertainty"), tmp_path / "bad.cbm"
    bad.write_bytes(good.path.read_bytes()[:3000])
    with pytest.raises(ArtefactError, match=r"bad\.cbm"):
        TreeEnsemble({"temperature": [good.path, bad]}, HEADS, schema())


def timed_as(monkeypatch: pytest.MonkeyPatch, seconds: Iterator[float]) -> None:
    for module in (ensemble, library):
        monkeypatch.setattr(module, "median_seconds", lambda call, repeats, clock: next(seconds))


class TestMeasuring:
    def test_the_library_answers_from_the_crossover(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        models = [trained(tmp_path, "RMSEWithUncertainty", f"{seed}.cbm", seed) for seed in range(2)]
        own, native = both({"temperature": models})
        seconds = iter([0.001, 0.002] * 4 + [0.002, 0.0005] * 2)  # tables and library, size by size
        timed_as(monkeypatch, seconds)
        own.measure(rows(10))
        assert own.crossover == 256
        for count in (1, 255, 256, 300):
            assert_equal(own, native, rows(count))
        sizes = []
        monkeypatch.setattr(own, "_native", lambda batch: sizes.append(len(batch)))
        for count in (1, 255, 256, 300):
            own(rows(count))
        assert sizes == [256, 300]

    def test_tables_that_never_pay_are_let_go(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        own, native = both({"temperature": [trained(tmp_path, "RMSEWithUncertainty")]})
        seconds = iter([0.002, 0.0005] * 6)
        timed_as(monkeypatch, seconds)
        own.measure(rows(10))
        assert (own.nbytes, own.why_native) == (0, "slower than the library")
        assert_equal(own, native, rows(10))

    def test_a_wait_for_the_processor_does_not_count(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        own, _ = both({"temperature": [trained(tmp_path, "RMSEWithUncertainty", iterations=200, depth=8)]})
        undisturbed = TreeEnsemble.__call__

        def interrupted(self: TreeEnsemble, batch: NDArray[np.float32]) -> Any:
            time.sleep(0.02)
            return undisturbed(self, batch)

        monkeypatch.setattr(TreeEnsemble, "__call__", interrupted)
        own.measure(rows(10))
        assert own.crossover is None
        assert own.why_native == ""

    def test_the_library_is_let_go_where_tables_pay(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        own, native = both({"temperature": [trained(tmp_path, "RMSEWithUncertainty", iterations=200, depth=8)]})
        seconds = iter([0.001, 0.002] * 6)
        timed_as(monkeypatch, seconds)
        own.measure(rows(10))
        own.measure(rows(10))
        assert own.crossover is None
        assert all(member.model.native is None for member in own._members["temperature"])
        assert_equal(own, native, rows(300))
