"""``demur new task``: a package with a task that is complete, trains in a second, and passes the contract tests."""

import importlib.util
import keyword
import re
import shutil
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from click import IntRange, argument, option
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from services.cli.new.stubs import GeneratorMissing, generate
from services.cli.options import Options, command, json_option
from services.cli.output import BadInput, print_json
from services.runtime.registry import GRPC_PORT_OFFSET, TASKS

TEMPLATES = Path(__file__).parent / "templates"
_FIRST_PORT = 3020
_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", re.ASCII)
_MOST_CHARACTERS = 32
"""Longest name of a task in a ledger."""
PLACES: Mapping[str, str] = {
    "pyproject.toml": "pyproject.toml",
    "README.md": "README.md",
    "__init__.py": "{name}/__init__.py",
    "spec.py": "{name}/spec.py",
    "answer.py": "{name}/answer.py",
    "task.py": "{name}/task.py",
    "task.proto": "{name}/{name}.proto",
    "served_model.py": "{name}/served_model.py",
    "entry.py": "{name}/entry.py",
    "train.py": "{name}/train.py",
    "py.typed": "{name}/py.typed",
    "test_contract.py": "tests/test_contract.py",
}
"""Template, without ``.jinja``, to its place in the folder."""


@command("task", example="demur new task signals")
@argument("name")
@option("--into", type=Path, default=Path(), show_default=True, help="Folder in which the package's folder is made.")
@option("--port", type=IntRange(1, 65535 - GRPC_PORT_OFFSET), help="TCP port of HTTP.  [default: one that no task has]")
@json_option
def task(options: Options) -> int:
    """Write a package with a task NAME: description, answer, messages, a training of one second, and contract tests."""
    folder: Path = options.into / options.name
    check_name(options.name, folder)
    port = options.port or free_port(entry.port for entry in TASKS.values())
    has_stubs = write(folder, options.name, port)
    steps = next_steps(folder, options.name, port, has_stubs=has_stubs)
    if options.json:
        print_json({"folder": str(folder), "port": port, "stubs": has_stubs, "next": steps})
        return 0
    print(f"The task {options.name} is in {folder}.{'' if has_stubs else ' Its stubs need grpcio-tools.'} Next:\n")
    print("\n".join(f"  {step}" for step in steps))
    return 0


def check_name(name: str, folder: Path) -> None:
    """Check that a task can have a name, and that its folder does not exist.

    Raises:
        BadInput: it cannot, or there is such a folder.
    """
    where = f"NAME = {name[:60]!r}"
    if not _NAME.fullmatch(name) or len(name) > _MOST_CHARACTERS:
        raise BadInput(
            f"{where}: must be at most {_MOST_CHARACTERS} characters: small letters, digits and single underscores, "
            "a letter first, such as tail_lift"
        )
    if name in TASKS:
        raise BadInput(f"{where}: must be a new name; the tasks {', '.join(TASKS)} exist")
    if keyword.iskeyword(name) or keyword.issoftkeyword(name):
        raise BadInput(f"{where}: must not be a keyword of Python; choose another")
    if folder.exists() or folder.is_symlink():
        raise BadInput(f"{folder}: must not exist; choose another NAME or --into")
    if not folder.parent.is_dir():
        raise BadInput(f"--into = {folder.parent}: must be a folder that exists; make it first")
    if name in sys.stdlib_module_names or importlib.util.find_spec(name) is not None:
        raise BadInput(f"{where}: must not be the name of a module that Python finds already; choose another")


def free_port(taken: Iterable[int]) -> int:
    """Return the first port for HTTP that no task has by default."""
    ports = set(taken)
    return next(port for port in range(_FIRST_PORT, 65535) if port not in ports)


def write(folder: Path, name: str, port: int) -> bool:
    """Write the package of a task; nothing is left of one that cannot be written.

    Returns:
        True if the stubs of its messages are written, too.

    Raises:
        OSError: the folder cannot be written.
        CommandError: the protobuf compiler failed.
    """
    environment = Environment(  # noqa: S701 - the files are code, not HTML
        loader=FileSystemLoader(TEMPLATES), undefined=StrictUndefined, keep_trailing_newline=True, auto_reload=False
    )
    values = {
        "name": name,
        "title": "".join(part.title() for part in name.split("_")),
        "distribution": f"demur-{name.replace('_', '-')}",
        "port": port,
    }
    staging = Path(tempfile.mkdtemp(prefix=f".{name}.", dir=folder.parent))
    try:
        for template, place in PLACES.items():
            path = staging / place.format(name=name)
            path.parent.mkdir(exist_ok=True)
            path.write_text(environment.get_template(f"{template}.jinja").render(values), encoding="utf-8")
        try:
            generate(staging / name / f"{name}.proto")
        except GeneratorMissing:
            has_stubs = False
        else:
            has_stubs = True
        staging.chmod(0o755)
        staging.rename(folder)
    except BaseException:
        shutil.rmtree(staging, ignore_errors=True)
        raise
    return has_stubs


def next_steps(folder: Path, name: str, port: int, *, has_stubs: bool) -> list[str]:
    """Return the commands that come next, in their order."""
    signal = ", ".join(str(reading) for reading in range(16))
    return [
        f"cd {folder}",
        "python -m pip install --no-build-isolation -e '.[dev]'",
        *([] if has_stubs else [f"demur new stubs {name}/{name}.proto"]),
        "python -m pytest",
        f"python -m {name}.train artefact",
        f"demur models import {name} artefact",
        f"demur serve {name}",
        f"curl -s http://127.0.0.1:{port}/v1/predict --json '{{\"signals\": [[{signal}]]}}'",
    ]
