"""The public surface, and that the package stands alone."""

import ast
import pickle
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import demur
from tests.regenerate_blocking_client import TARGET, blocking, generated

PACKAGE = Path(demur.__file__).parent


def test_all_is_what_is_public():
    public = {
        name for name, value in vars(demur).items() if not name.startswith("_") and not isinstance(value, ModuleType)
    }
    assert public | {"__version__"} == set(demur.__all__)
    assert sorted(demur.__all__) == sorted(set(demur.__all__))


def test_version_is_one():
    assert re.fullmatch(r"\d+\.\d+\.\d+", demur.__version__)


def test_modules_are_private():
    entries = [path for path in PACKAGE.iterdir() if path.suffix == ".py" or path.is_dir()]
    assert {path.name for path in entries if not path.name.startswith("_")} == {"v1", "testing.py"}


def test_blocking_client_is_generated_from_the_asynchronous_one():
    for path, text in generated().items():
        assert path.read_text() == text, f"{path.name}: run python -m tests.regenerate_blocking_client"
    assert {path.name for path in TARGET.glob("*.py")} == {path.name for path in generated()}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (
            "async def f(self) -> AsyncGenerator[A | B, None]: ...\n",
            "def f(self) -> Generator[A | B, None, None]: ...\n",
        ),
        ("async with aclosing(x) as y:\n    await y.aclose()\n", "with closing(x) as y:\n    y.close()\n"),
        ("z = await asyncio.to_thread(read, scan)\n", "z = read(scan)\n"),
        ("await asyncio.sleep(pause)\n", "time.sleep(pause)\n"),
        ("# inside ``contextlib.aclosing(...)``\n", "# inside ``contextlib.aclosing(...)``\n"),
    ],
)
def test_blocking_counterparts(source: str, expected: str) -> None:
    assert blocking(source, "module.py").partition("\n")[2].lstrip("\n") == expected


def test_error_tree_is_drawn_where_it_stands():
    errors = {name for name in demur.__all__ if isinstance(getattr(demur, name), type)}
    errors = {name for name in errors if issubclass(getattr(demur, name), demur.DemurError)}
    assert set(re.findall(r"(?:├──|└──) (\w+)", demur._errors.__doc__ or "")) == errors - {"DemurError"}


def test_imports_only_what_it_declares():
    allowed = {"demur", "google", "grpc", "numpy"} | set(sys.stdlib_module_names)
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom):
                names = [node.module or "demur"]
            elif isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            else:
                continue
            assert {name.split(".")[0] for name in names} <= allowed, path


def test_import_is_light():
    heavy = {"services", "models", "pandas", "torch", "scipy"}
    code = f"import sys, demur; print(*sorted({heavy} & set(sys.modules)))"
    environment = {"PYTHONPATH": str(PACKAGE.parent)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.strip() == ""


@pytest.mark.parametrize(
    "error",
    [
        demur.InvalidInput("m", code="out_of_range", field="stw", value="99", index=3),
        demur.Busy("m", code="busy", retry_after_seconds=2.0),
        demur.DeadlineExceeded("m"),
    ],
)
def test_errors_pickle(error):
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == "m"
    assert vars(again) == vars(error)


def test_errors_are_the_builtin_kinds_too():
    assert issubclass(demur.InvalidInput, ValueError)
    assert issubclass(demur.DeadlineExceeded, TimeoutError)
