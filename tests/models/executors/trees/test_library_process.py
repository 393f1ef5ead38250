"""CatBoost in a process of its own: equal to the library here, gone after its use, and never waited for in vain."""

import gc
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import psutil
import pytest

from models.artefact import ArtefactError
from models.compiled import build
from models.executors.trees import kernel
from models.executors.trees.ensemble import TreeEnsemble
from models.executors.trees.library import InProcess, Library
from models.executors.trees.library_process import LibraryProcess
from models.executors.trees.virtual import cut
from models.tasks.weather.spec import PRECIPITATION, TEMPERATURE
from tests.models.executors.trees.training import rows, schema, trained

HEADS = {"temperature": TEMPERATURE, "precipitation": PRECIPITATION}


@pytest.fixture(scope="module", autouse=True)
def _built() -> None:
    if kernel.load() is None:
        build(Path(kernel.__file__).parent)


def children() -> set[int]:
    """Living children of this process, without those that only garbage still holds."""
    gc.collect()
    return {
        child.pid
        for child in psutil.Process().children(recursive=True)
        if child.status() not in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
    }


def serving(code: str, limit_seconds: float = 60.0) -> LibraryProcess:
    """A library whose process runs this code instead; ``connection`` is its end."""
    beginning = "import os, sys, time, signal\nfrom multiprocessing.connection import Connection\n"
    end = "connection = Connection(int(sys.argv[1]))\nconnection.recv_bytes()\n"
    return LibraryProcess([sys.executable, "-c", beginning + end + code], limit_seconds)


def test_answers_are_those_of_the_library_here(tmp_path: Path) -> None:
    paths = {
        "temperature": [trained(tmp_path, "RMSEWithUncertainty", f"{seed}.cbm", seed).path for seed in range(2)],
        "precipitation": [trained(tmp_path, "MultiClass", "wet.cbm").path],
    }
    before = children()
    here = TreeEnsemble(paths, HEADS, schema())
    apart = TreeEnsemble(paths, HEADS, schema(), library=LibraryProcess)
    assert apart.why_native == ""
    assert len(children() - before) == 1
    apart.measure(rows(10))
    assert children() == before
    apart.measure(rows(10))
    for head, values in here(rows(70)).items():
        np.testing.assert_array_equal(apart(rows(70))[head], values)


def test_opened_models_and_sums_are_equal(tmp_path: Path) -> None:
    path = trained(tmp_path, "RMSEWithUncertainty", posterior_sampling=True).path
    libraries: list[Library] = [InProcess(), LibraryProcess()]
    models = [library.open(path, TEMPERATURE, schema()) for library in libraries]
    here, apart = models
    assert (apart.trees, apart.shrinkage, apart.native) == (here.trees, here.shrinkage, None)
    inputs = rows(9)
    sums = [library.pieces(model, cut(model, 3), inputs) for library, model in zip(libraries, models, strict=True)]
    np.testing.assert_array_equal(sums[1], sums[0])
    assert libraries[1].seconds([(apart, cut(apart, 3))], inputs, 1, 2) > 0
    libraries[1].release(apart)
    with pytest.raises(ArtefactError, match="KeyError"):
        libraries[1].pieces(apart, cut(apart, 3), inputs)
    libraries[1].close()
    libraries[1].close()


def test_this_process_imports_no_catboost(tmp_path: Path) -> None:
    path = trained(tmp_path, "RMSEWithUncertainty", iterations=100, depth=8).path
    code = f"""
import sys
import numpy as np
from pathlib import Path
from models.executors.trees import ensemble
from models.executors.trees.library_process import LibraryProcess
from tests.models.executors.trees.training import schema
from models.tasks.weather.spec import TEMPERATURE
ensemble.median_seconds = lambda call, repeats, clock: 0.0
trees = ensemble.TreeEnsemble(
    {{"temperature": [Path({str(path)!r})]}}, {{"temperature": TEMPERATURE}}, schema(), library=LibraryProcess
)
trees.measure(np.zeros((3, 7), np.float32))
print(trees.why_native, trees.crossover, "catboost" in sys.modules)
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert found.stdout.split() == ["None", "False"]


def test_a_file_is_refused_in_the_same_words(tmp_path: Path) -> None:
    good, bad = trained(tmp_path, "RMSEWithUncertainty"), tmp_path / "bad.cbm"
    bad.write_bytes(good.path.read_bytes()[:3000])
    before, messages = children(), []
    for library in (InProcess, LibraryProcess):
        with pytest.raises(ArtefactError, match=r"bad\.cbm") as caught:
            TreeEnsemble({"temperature": [good.path, bad]}, HEADS, schema(), library=library)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]
    assert children() == before


def test_trees_without_tables_are_run_by_the_library_here(tmp_path: Path) -> None:
    good = trained(tmp_path, "RMSEWithUncertainty", "good.cbm")
    other = trained(tmp_path, "RMSEWithUncertainty", "other.cbm", grow_policy="Lossguide")
    before = children()
    own = TreeEnsemble({"temperature": [good.path, other.path]}, HEADS, schema(), library=LibraryProcess)
    assert "not oblivious" in own.why_native
    assert children() == before
    native = TreeEnsemble({"temperature": [good.path, other.path]}, HEADS, schema(), fast=False)
    np.testing.assert_array_equal(own(rows(20))["temperature"], native(rows(20))["temperature"])


def test_without_the_kernel_no_process_is_started(tmp_path: Path) -> None:
    def forbidden() -> Library:
        raise AssertionError("the library is needed in this process")

    path = trained(tmp_path, "RMSEWithUncertainty").path
    assert TreeEnsemble({"temperature": [path]}, HEADS, schema(), fast=False, library=forbidden).nbytes == 0


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("os.kill(os.getpid(), signal.SIGKILL)", "was ended by signal 9"),
        ("sys.exit(3)", "ended with exit status 3"),
        ("connection.send_bytes(b'nothing')", "gave no answer"),
        ("connection.send_bytes(bytes.fromhex('81a474797065a8') + b'_Refuse2')", "gave no answer"),
    ],
)
def test_a_process_that_fails_is_an_error_with_the_reason(code: str, reason: str) -> None:
    library = serving(code)
    with pytest.raises(ArtefactError, match=rf"model\.cbm: the process that checks models with CatBoost {reason}"):
        library.open(Path("model.cbm"), TEMPERATURE, schema())


def test_a_process_that_hangs_is_killed(tmp_path: Path) -> None:
    library = serving("time.sleep(600)", limit_seconds=0.5)
    start = time.monotonic()
    with pytest.raises(ArtefactError, match=r"did not answer within 0\.5 s"):
        library.open(tmp_path / "model.cbm", TEMPERATURE, schema())
    assert time.monotonic() - start < 10


def test_a_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = trained(tmp_path, "RMSEWithUncertainty").path
    (tmp_path / "catboost.py").write_text("raise ModuleNotFoundError('No module named catboost')")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ArtefactError, match=r"model\.cbm: .*ModuleNotFoundError: No module named catboost"):
        LibraryProcess().open(path, TEMPERATURE, schema())


def test_the_process_ends_with_its_ensemble(tmp_path: Path) -> None:
    """Also if nothing is ever measured."""
    path, before = trained(tmp_path, "RMSEWithUncertainty").path, children()
    own = TreeEnsemble({"temperature": [path]}, HEADS, schema(), library=LibraryProcess)
    assert children() != before
    del own
    assert children() == before
