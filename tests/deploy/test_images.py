"""Images without building one: lists of packages, Containerfiles, the Bento and the script say the same."""

import fnmatch
import importlib.util
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import jinja2
import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from services import __version__

PROJECT = Path(__file__).resolve().parents[2]
IMAGES = PROJECT / "deploy" / "images"
CONTAINERFILE = (IMAGES / "Containerfile").read_text()
PYPROJECT = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
BENTOFILE: dict[str, Any] = yaml.safe_load((PROJECT / "bentofile.yaml").read_text())
EXTRAS = ("postgres", "tracing")


def pinned(path: Path) -> dict[str, str]:
    """Canonical name to version of the lines of a list."""
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    pairs = [line.split(" ")[0].split("==") for line in lines]
    return {canonicalize_name(name): version for name, version in pairs}


def stage(name: str) -> str:
    """What stands in the Containerfile between one FROM and the next, comments left out."""
    text = re.sub(r"^#.*\n", "", CONTAINERFILE, flags=re.MULTILINE)
    match = re.search(rf"^FROM \S+ AS {name}\n(.*?)(?=^FROM |\Z)", text, re.MULTILINE | re.DOTALL)
    assert match is not None
    return match[1]


@pytest.mark.parametrize("variant", ["cpu", "gpu"])
def test_lists_of_packages_are_what_the_project_depends_on(variant: str) -> None:
    listed = pinned(IMAGES / f"requirements-{variant}.txt")
    optional = PYPROJECT["optional-dependencies"]
    requirements = [Requirement(text) for text in PYPROJECT["dependencies"]]
    requirements += [Requirement(text) for extra in EXTRAS for text in optional.get(extra, [])]
    runtime = {"cpu": "onnxruntime", "gpu": "onnxruntime-gpu"}[variant]
    for requirement in requirements:
        name = canonicalize_name(requirement.name)
        if name.startswith("onnxruntime"):
            name = runtime
        if name != "demur-client":
            assert name in listed, f"{name} is missing; run deploy/images/lock.py"
            assert requirement.specifier.contains(listed[name]), f"{name} {listed[name]}; run deploy/images/lock.py"
    runtimes = {name for name in listed if name.startswith("onnxruntime")}
    assert runtimes == {runtime}
    assert any(name.startswith("nvidia-cudnn") for name in listed) == (variant == "gpu")


@pytest.mark.parametrize("variant", ["cpu", "gpu"])
def test_lists_of_packages_have_the_versions_that_are_tested(variant: str) -> None:
    listed, tested = pinned(IMAGES / f"requirements-{variant}.txt"), pinned(PROJECT / "constraints.txt")
    tested["onnxruntime"] = tested["onnxruntime-gpu"]
    differing = {name: version for name, version in listed.items() if tested.get(name) != version}
    assert all(name.startswith("nvidia-") for name in differing), f"{differing}; run deploy/images/lock.py"


@pytest.mark.parametrize("path", sorted(IMAGES.glob("requirements-*.txt")), ids=lambda path: path.stem)
def test_every_package_is_pinned_and_hashed(path: Path) -> None:
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    assert lines
    assert [line for line in lines if not re.fullmatch(r"[a-z0-9-]+==\S+ --hash=sha256:[0-9a-f]{64}", line)] == []
    if "build" not in path.name:
        assert not {"pip", "setuptools", "wheel", "uv", "torch", "matplotlib"} & set(pinned(path))


def test_a_bento_is_made_into_the_same_image() -> None:
    assert BENTOFILE["docker"] == {"dockerfile_template": "deploy/images/Containerfile"}
    assert BENTOFILE["python"]["requirements_txt"] == "deploy/images/requirements-cpu.txt"
    assert "packages" not in BENTOFILE["python"]
    rendered = jinja2.Environment(trim_blocks=True, lstrip_blocks=True).from_string(CONTAINERFILE).render()
    ours, theirs = CONTAINERFILE.splitlines(), rendered.splitlines()
    added = [line for line in theirs if line not in ours]
    assert [line for line in added if not line.startswith("#") or len(line) > 2] == ["ARG SOURCE=src"]
    assert theirs.index("ARG SOURCE=.") < theirs.index("ARG SOURCE=src") < theirs.index("FROM ${BASE} AS base")


def test_what_is_copied_is_in_the_context_and_in_the_bento() -> None:
    copied = set(re.findall(r"\$\{SOURCE\}/(\S+)", CONTAINERFILE))
    assert {"models", "services", "clients/python", "pyproject.toml"} <= copied
    let_in = [line[1:] for line in (PROJECT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    packed = [pattern.strip("/").removesuffix("/**").removesuffix("/*") for pattern in BENTOFILE["include"]]
    for path in (path.replace("${VARIANT}", "cpu") for path in copied):
        assert (PROJECT / path).exists()
        assert any(path == folder or path.startswith(f"{folder}/") for folder in let_in), path
        assert any(path == folder or path.startswith(f"{folder}/") for folder in packed), path


def test_the_result_runs_as_nobody_in_particular_and_says_what_it_is() -> None:
    result = stage("demur")
    assert "USER 10001:10001\n" in result
    assert "EXPOSE 3000 4000\n" in result
    assert 'ENTRYPOINT ["demur"]\n' in result
    assert "RUN " not in result, "the last stage only copies: nothing installs there"
    for label in ("title", "description", "licenses", "version", "revision", "created"):
        assert f"org.opencontainers.image.{label}=" in result
    settings = dict(re.findall(r"\b(DEMUR_[A-Z_]+|BENTOML_HOME|HOME)=(\S+)", result))
    assert (settings["DEMUR_HTTP_PORT"], settings["DEMUR_GRPC_PORT"]) == ("3000", "4000")
    assert settings["DEMUR_REVIEW_PORT"] == "3000", "one HTTP port, whatever the image runs"
    assert settings["DEMUR_HOME"] == "/var/lib/demur"
    assert settings["DEMUR_ARTEFACTS"] == "/artefacts"
    assert settings["BENTOML_HOME"] == "/tmp/bentoml"
    assert "DEMUR_ALLOW_REMOTE" not in settings, "who may call is for the operator to say"


@pytest.mark.parametrize("path", sorted(IMAGES.glob("*Containerfile")), ids=lambda path: path.name)
def test_containerfiles_keep_to_good_manners(path: Path) -> None:
    text = path.read_text()
    assert not re.search(r"^ADD ", text, re.MULTILINE)
    assert ":latest" not in text
    assert not re.search(r"(TOKEN|PASSWORD|SECRET|API_KEY)=", text)
    assert not re.search(r"trusted-host|--insecure|ca-bundle|index-url", text)
    assert f"ARG VERSION={__version__}\n" in text
    hadolint = Path(sys.executable).with_name("hadolint")
    if not hadolint.exists():
        pytest.skip("hadolint is not installed; `make test` installs it")
    ran = subprocess.run([hadolint, path], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout


@pytest.mark.parametrize("engine", ["docker", "podman", "buildah"])
def test_the_script_asks_each_engine_for_the_same(engine: str, tmp_path: Path) -> None:
    """The engine is one that writes down what it was asked."""
    fake = tmp_path / engine
    fake.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    fake.chmod(0o755)
    arguments = {}
    for what in ("cpu", "gpu", "artefacts", "copier"):
        environment = os.environ | {
            "PATH": f"{tmp_path}:{os.environ['PATH']}",
            "ENGINE": engine,
            "BASE": "base@sha256:1",
        }
        environment |= {"SOURCE_DATE_EPOCH": "86400", "REVISION": "abc"}
        environment |= {"BASE": "base@sha256:1", "BUILD_FLAGS": "--network=host --pull"}
        ran = subprocess.run(
            [IMAGES / "build.sh", what], env=environment, capture_output=True, text=True, check=True, cwd=tmp_path
        )
        arguments[what] = ran.stdout.splitlines()
        assert "CREATED=1970-01-02T00:00:00Z" in arguments[what]
        assert f"VERSION={__version__}" in arguments[what]
        assert "REVISION=abc" in arguments[what]
        assert arguments[what].count("--network=host") == arguments[what].count("--pull") == 1
    assert arguments["cpu"][-1] == "built localhost/demur:cpu"
    assert {"VARIANT=gpu", "BASE=base@sha256:1", "SOURCE_DATE_EPOCH=86400"} <= set(arguments["gpu"])
    assert arguments["artefacts"][-1] == f"built localhost/demur-artefacts:{__version__}"
    assert subprocess.run([IMAGES / "build.sh", "else"], env=environment, capture_output=True).returncode == 2


@pytest.fixture(scope="module")
def sbom() -> ModuleType:
    spec = importlib.util.spec_from_file_location("sbom", IMAGES / "sbom.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_bill_of_materials(sbom: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Made of a folder of two distributions, and of dpkg's status: the same bytes each time."""
    site = tmp_path / "site"
    for name, more in (("Some_Thing", "License-Expression: MIT\n"), ("other", "License: BSD\n")):
        (site / f"{name}-1.0.dist-info").mkdir(parents=True)
        text = f"Metadata-Version: 2.4\nName: {name}\nVersion: 1.0\n{more}"
        (site / f"{name}-1.0.dist-info" / "METADATA").write_text(text)
    status = "Package: libc6\nStatus: install ok installed\nArchitecture: amd64\nVersion: 2.36-9+deb12u1\n"
    (tmp_path / "status").write_text(status + "\nPackage: gone\nStatus: deinstall ok config-files\n")
    (tmp_path / "lock").write_text(f"# made\nsome-thing==1.0 --hash=sha256:{'a' * 64}\n")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    arguments = [
        "--site-packages",
        str(site),
        "--dpkg-status",
        str(tmp_path / "status"),
        "--lock",
        str(tmp_path / "lock"),
    ]
    arguments += ["--name", "demur", "--version", "1", "--variant", "cpu"]
    made = []
    for run in ("one", "two"):
        monkeypatch.setattr(sys, "argv", ["sbom.py", *arguments, "--output", str(tmp_path / run)])
        sbom.main()
        made.append((tmp_path / run).read_bytes())
    assert made[0] == made[1]
    document = json.loads(made[0])
    assert document["metadata"]["timestamp"] == "1970-01-02T00:00:00Z"
    by_name = {component["name"]: component for component in document["components"]}
    assert sorted(by_name) == ["libc6", "other", "some-thing"]
    assert by_name["some-thing"]["hashes"] == [{"alg": "SHA-256", "content": "a" * 64}]
    assert by_name["some-thing"]["licenses"] == [{"expression": "MIT"}]
    assert by_name["other"]["licenses"] == [{"license": {"name": "BSD"}}]
    assert by_name["libc6"]["purl"] == "pkg:deb/debian/libc6@2.36-9%2Bdeb12u1?arch=amd64&distro=debian-12"


def test_the_readme_names_files_and_targets_that_exist() -> None:
    text = (IMAGES / "README.md").read_text()
    targets = set(re.findall(r"^([a-z-]+):", (PROJECT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"`?make ([a-z-]+)", text)) <= targets
    for name in re.findall(r"`([\w./-]+\.(?:sh|py|txt|yaml)|[\w./]*Containerfile)`", text):
        assert (IMAGES / name).exists() or (PROJECT / name).exists(), name


def test_what_artefacts_of_a_task_share_is_in_the_images_context() -> None:
    """Inputs of replay sets lie beside the folders of artefacts: what takes folders alone would leave them behind."""
    shared = sorted((PROJECT / "artefacts").glob("*/replay-*.npz"))
    assert {path.parent.name for path in shared} == {
        path.name for path in (PROJECT / "artefacts").iterdir() if path.is_dir()
    }
    refusing = [
        line for line in (PROJECT / ".dockerignore").read_text().splitlines() if not line.startswith(("!", "#", "*\n"))
    ]
    for path in shared:
        relative = path.relative_to(PROJECT).as_posix()
        assert any(fnmatch.fnmatch(relative, pattern) for pattern in BENTOFILE["include"])
        assert not any(fnmatch.fnmatch(relative, pattern) for pattern in refusing if pattern not in ("", "*"))
    copies = (IMAGES / "artefacts.Containerfile").read_text()
    assert copies.count("COPY ${ARTEFACTS}/ /") == 2, "the whole tree, with what lies beside folders"
