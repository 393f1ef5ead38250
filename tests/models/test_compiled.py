"""The project's build compiles the same kernels in the same way as ``python -m models.compiled``."""

import tomllib
from pathlib import Path

from models import compiled

PROJECT = Path(__file__).resolve().parents[2]


def test_the_projects_build_compiles_every_kernel_as_the_module_does() -> None:
    settings = tomllib.loads((PROJECT / "pyproject.toml").read_text())["tool"]["setuptools"]["ext-modules"]
    sources = sorted((PROJECT / "models").rglob(compiled.SOURCE))
    assert settings == [
        {
            "name": ".".join((*source.relative_to(PROJECT).parent.parts, "_kernel")),
            "sources": [str(source.relative_to(PROJECT))],
            **({"depends": headers} if headers else {}),
            "extra-compile-args": list(compiled.FLAGS),
            "optional": True,
        }
        for source in sources
        for headers in [[str(path.relative_to(PROJECT)) for path in sorted(source.parent.glob("*.h"))]]
    ]


def test_a_folder_without_a_library_or_with_a_broken_one_has_no_kernel(tmp_path: Path) -> None:
    assert compiled.library(tmp_path) is None
    (tmp_path / "kernel.c").write_text("int one(void) { return 1; }\n")
    path = compiled.build(tmp_path)
    library = compiled.library(tmp_path)
    assert library is not None
    assert library.one() == 1
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / path.name).write_bytes(b"no library")
    assert compiled.library(broken) is None
