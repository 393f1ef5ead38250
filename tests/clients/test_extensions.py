"""Modules below ``demur`` that other distributions implement: an entry point each, or an error that says what to do."""

from pathlib import Path

import pytest

from tests.distributions import PROJECT, EntryPoints, declared, install, python

PRINT_ERROR = "try:\n    import demur.testing\nexcept ImportError as error:\n    print(error)\n"


def test_the_main_distribution_brings_contract_tests(tmp_path: Path) -> None:
    name, entry_points = declared(PROJECT / "pyproject.toml")
    install(tmp_path, name, entry_points)
    program = (
        "import demur.testing as t\nfrom demur.testing import TaskContract\nprint(TaskContract.__module__, dir(t))\n"
    )
    ran = python(["-c", program], tmp_path)
    assert ran.stdout.startswith("services.contract_tests.contract ['Example', 'Refusal', 'TaskContract'"), ran.stderr


@pytest.mark.parametrize(
    ("entry_points", "words"),
    [
        ({}, "demur.testing is not part of the client (demur-client) and no installed package has it"),
        ({"testing": "services.nowhere"}, "demur.testing cannot be loaded, since services.nowhere is missing"),
        ({"testing": "services.contract_tests:TaskContract"}, "must name a module; got type"),
    ],
)
def test_errors_say_what_to_install(entry_points: dict[str, str], words: str, tmp_path: Path) -> None:
    groups: EntryPoints = {"demur.extensions": entry_points}
    install(tmp_path, "demur", groups)
    ran = python(["-c", PRINT_ERROR], tmp_path)
    assert words in ran.stdout, ran.stdout + ran.stderr
    assert ran.stdout.strip().endswith("install it with: pip install 'demur[testing]'")


def test_a_missing_requirement_is_named(tmp_path: Path) -> None:
    install(tmp_path, "demur", {"demur.extensions": {"testing": "services.contract_tests"}})
    blocked = "import sys\nsys.modules['jsonschema'] = None\n"
    ran = python(["-c", blocked + PRINT_ERROR], tmp_path)
    assert "demur.testing cannot be loaded, since jsonschema is missing" in ran.stdout, ran.stdout + ran.stderr
