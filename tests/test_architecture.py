"""The laws of the layout: rooms and their order, one-way imports, no torch in serving, tasks in their own files."""

import ast
import subprocess
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest

PROJECT = Path(__file__).resolve().parents[1]
CLIENT = PROJECT / "clients" / "python"
TASKS = ("weather", "translation", "motion", "lesion", "vessel")


def sources(root: Path) -> list[Path]:
    return sorted(path for path in root.rglob("*.py") if "__pycache__" not in path.parts)


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """Return all nodes of a file's syntax tree that import or name something."""
    kinds = (ast.Import, ast.ImportFrom, ast.Name, ast.Attribute, ast.Constant, ast.FunctionDef, ast.ClassDef, ast.arg)
    return tuple(node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, kinds))


def imported(path: Path) -> Iterator[str]:
    """All modules that a file imports, wherever in it."""
    for node in nodes(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            yield node.module or ""


SERVED_EXAMPLE = PROJECT / "examples" / "digits"
"""Example of a task: code of a server, while all other examples are callers."""
FORBIDDEN = {
    PROJECT / "models": (
        "services",
        "simulators",
        "studies",
        "benchmarks",
        "demur",
        "bentoml",
        "grpc",
        "prometheus_client",
        "starlette",
        "tests",
    ),
    CLIENT / "demur": ("services", "models", "bentoml", "onnxruntime", "tests"),
    PROJECT / "services": ("tests", "benchmarks", "studies", "simulators", "examples"),
    PROJECT / "simulators": ("services", "tests", "benchmarks", "studies", "examples"),
    PROJECT / "benchmarks": ("studies",),
    PROJECT / "examples": ("tests", "benchmarks", "studies"),
    SERVED_EXAMPLE: ("simulators", "tests", "benchmarks", "studies"),
}
ROOMS = (
    *("runtime", "policy", "tracing", "qualification", "ledger", "labels", "request", "access", "transport"),
    *("tasks", "report", "review", "monitor", "app", "contract_tests", "cli"),
)
"""Folders of services; each imports only those before it."""
NO_PROTOCOL = ("runtime", "policy", "tracing", "qualification", "ledger", "labels", "request", "access")
PROTOCOLS = ("grpc", "starlette", "httpx", "uvicorn", "bentoml")
CLIENT_FROM = {"services/labels/webhooks.py"}
"""Modules of those rooms that are clients themselves."""
LONGEST_LINES = 400


@pytest.mark.parametrize("root", FORBIDDEN, ids=lambda root: root.name)
def test_imports_run_one_way(root: Path) -> None:
    violations = [
        f"{path.relative_to(PROJECT)} imports {module}"
        for path in sources(root)
        if root == SERVED_EXAMPLE or SERVED_EXAMPLE not in path.parents
        for module in imported(path)
        if module.partition(".")[0] in FORBIDDEN[root]
    ]
    assert violations == []


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_rooms_before_it(room: str) -> None:
    folder = PROJECT / "services" / room
    allowed = {f"services.{name}" for name in ROOMS[: ROOMS.index(room) + 1]}
    against = [
        f"{path.relative_to(PROJECT)} imports {module}"
        for path in sources(folder)
        for module in imported(path)
        if module.startswith("services.") and ".".join(module.split(".")[:2]) not in allowed
    ]
    assert against == []


def test_services_have_rooms_only() -> None:
    root = PROJECT / "services"
    assert [path.name for path in root.glob("*.py")] == ["__init__.py"]
    assert {path.parent.name for path in root.glob("*/__init__.py")} <= set(ROOMS)


def test_nothing_that_serves_imports_the_contract_tests() -> None:
    """They import pytest, which no image has."""
    importers = {
        path.relative_to(PROJECT).as_posix()
        for path in sources(PROJECT / "services")
        if path.parent.name != "contract_tests"
        for module in imported(path)
        if module.startswith("services.contract_tests")
    }
    assert importers == set()


@pytest.mark.parametrize("room", NO_PROTOCOL)
def test_the_engine_imports_no_protocol(room: str) -> None:
    against = [
        f"{path.relative_to(PROJECT)} imports {module}"
        for path in sources(PROJECT / "services" / room)
        if path.relative_to(PROJECT).as_posix() not in CLIENT_FROM
        for module in imported(path)
        if module.partition(".")[0] in (*PROTOCOLS, "demur")
    ]
    assert against == []


def test_there_is_no_circle_of_imports() -> None:
    """Imports for types only count, too."""
    graph = {}
    for root, base in ((PROJECT / "services", PROJECT), (PROJECT / "models", PROJECT), (CLIENT / "demur", CLIENT)):
        for path in sources(root):
            graph[".".join(path.relative_to(base).with_suffix("").parts).removesuffix(".__init__")] = path
    edges = {module: [*dependencies(path, graph.keys())] for module, path in graph.items()}
    assert list(circles(edges)) == []


def circles(edges: Mapping[str, Sequence[str]]) -> Iterator[list[str]]:
    """Yield the strongly connected components of several modules (Tarjan 1972)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []

    def visit(module: str) -> Iterator[list[str]]:
        index[module] = low[module] = len(index)
        stack.append(module)
        for target in edges[module]:
            if target not in index:
                yield from visit(target)
            if target in stack:
                low[module] = min(low[module], low[target])
        if low[module] == index[module]:
            component = stack[stack.index(module) :]
            del stack[stack.index(module) :]
            if len(component) > 1:
                yield sorted(component)

    for module in edges:
        if module not in index:
            yield from visit(module)


def dependencies(path: Path, modules: Collection[str]) -> Iterator[str]:
    """Yield the modules among some that a file imports."""
    for node in nodes(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                yield from (
                    dependency
                    for dependency in (name if name in modules else node.module or "",)
                    if dependency in modules
                )


def test_no_module_is_long() -> None:
    roots = (PROJECT / "services", PROJECT / "models", PROJECT / "simulators", CLIENT / "demur")
    long = {
        path.relative_to(PROJECT).as_posix(): lines
        for root in roots
        for path in sources(root)
        if (lines := len(path.read_text().splitlines())) > LONGEST_LINES
        and not path.name.endswith(("_pb2.py", "_pb2_grpc.py"))
    }
    assert long == {}


def test_there_are_no_catch_all_modules() -> None:
    roots = (PROJECT / "services", PROJECT / "models", PROJECT / "tests", CLIENT)
    catch_all = {"utils", "util", "common", "helpers", "helper", "core", "misc"}
    offenders = [path for root in roots for path in sources(root) if catch_all & {path.stem, *path.parent.parts[-1:]}]
    assert offenders == []


def without_torch(program: str) -> subprocess.CompletedProcess[str]:
    """Runs a program in an interpreter where importing torch fails."""
    block = (
        "import sys\n"
        "class Block:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.partition('.')[0] in ('torch', 'onnx', 'pandas', 'matplotlib'):\n"
        "            raise ImportError(name + ' is blocked: serving does not need it')\n"
        "sys.meta_path.insert(0, Block())\n"
    )
    paths = f"sys.path[:0] = [{str(PROJECT)!r}, {str(CLIENT)!r}]\n"
    command = [sys.executable, "-c", block + paths + program]
    return subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)


def test_serving_needs_no_torch() -> None:
    program = (
        "import importlib\n"
        "import services.app.assembly, services.transport.grpc.server, services.transport.http.app\n"
        "import services.app.model_store, services.cli.serve, services.cli.up\n"
        "import services.app.bento, services.app.process\n"
        "from services.tasks import TENANTS\n"
        "for tenant in TENANTS.values(): importlib.import_module(tenant.partition(':')[0])\n"
        f"sys.path.append({str(SERVED_EXAMPLE.parent)!r}); import digits.served_model\n"
        "print('served')\n"
    )
    ran = without_torch(program)
    assert ran.stdout == "served\n", ran.stderr
    control = without_torch("import torch")
    assert "is blocked" in control.stderr, "the block does block"


def test_the_monitor_loads_no_model_and_no_server_of_models() -> None:
    program = (
        f"import sys; sys.path[:0] = [{str(PROJECT)!r}, {str(CLIENT)!r}]\n"
        "import services.cli.monitor, services.cli.monitor_run, services.cli.monitor_export\n"
        "import services.monitor.page, services.monitor.figures\n"
        "print(sorted(set(sys.modules) & {'torch', 'onnxruntime', 'bentoml', 'grpc', 'onnx', 'matplotlib'}))\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=240, check=False)
    assert ran.stdout == "[]\n", ran.stdout + ran.stderr


def test_the_server_of_a_task_loads_no_host_and_no_trainer() -> None:
    """Each would cost the memory of every service, at rest as well."""
    program = (
        f"import importlib, sys; sys.path[:0] = [{str(PROJECT)!r}, {str(CLIENT)!r}]\n"
        "import services.app.server, services.app.process\n"
        "from services.tasks import TENANTS\n"
        "for tenant in TENANTS.values(): importlib.import_module(tenant.partition(':')[0])\n"
        "others = {'bentoml', 'circus', 'torch', 'scipy.special', 'scipy.optimize', 'pandas', 'onnx', 'matplotlib'}\n"
        "print(sorted(set(sys.modules) & others))\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=240, check=False)
    assert ran.stdout == "[]\n", ran.stdout + ran.stderr


def test_importing_models_does_not_import_training_libraries() -> None:
    """Task modules that train may; the pure library and what serves it may not, even where torch is installed."""
    training = {"torch", "pandas", "matplotlib", "onnxscript"}
    modules = [
        ".".join(path.relative_to(PROJECT).with_suffix("").parts).removesuffix(".__init__")
        for path in sources(PROJECT / "models")
        if "tasks" not in path.parts and path.name != "graph.py" and path.parts[-2:] != ("training", "loop.py")
    ]
    specs = [f"models.tasks.{path.parent.name}.spec" for path in PROJECT.glob("models/tasks/*/spec.py")]
    program = (
        f"import sys; sys.path[:0] = [{str(PROJECT)!r}]\n"
        f"import {', '.join(modules + specs)}\n"
        f"print(sorted(set(sys.modules) & {training!r}))\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=240, check=False)
    assert ran.stdout == "[]\n", ran.stdout + ran.stderr


def test_nobody_else_provides_our_top_level_names() -> None:
    """Careless wheels install packages called models or services; ours must be the ones that are imported."""
    ours = {"services": "demur", "models": "demur", "demur": "demur-client", "simulators": "demur-simulators"}
    provided = packages_distributions()
    for name, distribution in ours.items():
        others = {provider for provider in provided.get(name, []) if provider.lower() != distribution}
        assert others == set(), f"{name} is also installed by {others}"


ALLOWED_NAMES = {
    "services/runtime/registry.py": "the registry",
}
ALLOWED_TERMS = {
    "models/assessment/segmentation.py": "lesion: lesion_f1 is the field's name of the figure",
    "models/uncertainty/voxels.py": "lesion: lesion_structural_uncertainty is the field's name of the measure",
    "services/report/glossary.py": "lesion: lesion_f1 is the field's name of the figure, which the report explains",
}
"""Modules that may use a task's name as a term of its field: the term and why."""


@pytest.mark.parametrize("task", TASKS)
def test_a_task_is_named_in_its_own_files_and_the_registry_only(task: str) -> None:
    """Code, not prose: examples in docstrings and help texts may name a task."""
    places = []
    for path in sources(PROJECT / "services"):
        relative = path.relative_to(PROJECT).as_posix()
        if relative in ALLOWED_NAMES or relative.startswith(f"services/tasks/{task}"):
            continue
        if ALLOWED_TERMS.get(relative, "").startswith(f"{task}:"):
            continue
        places += [f"{relative}:{line}" for line in mentions(path, task)]
    for path in sources(PROJECT / "models"):
        relative = path.relative_to(PROJECT).as_posix()
        if "tasks" in path.parts or ALLOWED_TERMS.get(relative, "").startswith(f"{task}:"):
            continue
        places += [f"{relative}:{line}" for line in mentions(path, task)]
    assert places == []


def mentions(path: Path, task: str) -> Iterator[int]:
    """Lines whose names, attributes, imports or exact strings are a task's name."""
    for line, words in named(path):
        if any(task in word.replace("promotion", "") for word in words):  # of units, in the ledger
            yield line


@cache
def named(path: Path) -> tuple[tuple[int, list[str]], ...]:
    """Return lines and their names, attributes, imports and strings of one word, in small letters."""
    words: dict[type[ast.AST], Callable[[Any], list[str]]] = {
        ast.Name: lambda n: [n.id],
        ast.Attribute: lambda n: [n.attr],
        ast.Constant: lambda n: [n.value] if isinstance(n.value, str) and " " not in n.value else [],
        ast.ImportFrom: lambda n: [n.module or "", *(alias.name for alias in n.names)],
        ast.Import: lambda n: [alias.name for alias in n.names],
        ast.FunctionDef: lambda n: [n.name],
        ast.ClassDef: lambda n: [n.name],
    }
    pairs = ((node, words[type(node)](node)) for node in nodes(path) if type(node) in words)
    return tuple((node.lineno, [word.lower() for word in each]) for node, each in pairs if each)


def test_the_check_for_task_names_can_fail(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text('"""The vessel, in prose."""\nif task == "vessel":\n    run(Vessel)\n')
    assert list(mentions(tmp_path / "m.py", "vessel")) == [2, 3]
    (tmp_path / "n.py").write_text("Promotion()\nMotion()\n")
    assert list(mentions(tmp_path / "n.py", "motion")) == [2]


VAGUE = {"found", "told", "said", "given", "asked", "wanted"}
STILL_VAGUE = {"clients/python/demur/_async/motion.py", "clients/python/demur/_sync/motion.py"}
"""Modules that still have such a name, a public parameter; this list only shrinks."""


def bound_name(node: ast.AST) -> str:
    """Return the name that a node binds; empty for none."""
    match node:
        case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
            return name
        case ast.arg(arg=name) | ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            return name
    return ""


def test_names_say_what_they_hold() -> None:
    """No variable, attribute, parameter, function or class is called after the act by which it was got."""
    vague = {
        path.relative_to(PROJECT).as_posix()
        for root in ("services", "models", "clients/python/demur", "examples")
        for path in sources(PROJECT / root)
        for node in nodes(path)
        if bound_name(node).strip("_").lower() in VAGUE
    }
    assert vague == STILL_VAGUE
