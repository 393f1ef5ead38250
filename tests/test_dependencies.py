"""What the check of dependencies finds, and that it does not take silence for health."""

import pytest

from tests.dependencies import CONSTRAINTS, pinned, unlicensed, unpinned, vulnerable


def test_every_pin_is_read() -> None:
    pins = pinned("# words\nA_b.c==1.0\n\nd==2.0  # why\n")
    assert pins == {"a-b-c": "1.0", "d": "2.0"}
    lines = [line for line in CONSTRAINTS.read_text().splitlines() if line and not line.startswith("#")]
    assert len(pinned(CONSTRAINTS.read_text())) == len(lines), "a package is there twice"


def test_what_is_not_pinned_is_named() -> None:
    installed = {"a": "1.0", "b": "1.0", "torch": "2.0+cpu", "demur": "0", "pip": "9"}
    assert unpinned(installed, {"a": "1.1", "torch": "2.0"}) == [
        "a 1.0 is installed, constraints.txt has 1.1",
        "b 1.0 is installed, constraints.txt has no pin",
    ]


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ("MIT", True),
        ("Apache-2.0 AND BSD-2-Clause", True),
        ("Mozilla Public License 2.0 (MPL 2.0)", True),
        ("", False),
        ("GPL-3.0-only", False),
        ("MIT OR AGPL-3.0", False),
        ("LGPL-3.0-only", False),
        ("Proprietary", False),
        ("permit", False),
    ],
)
def test_licences_are_those_allowed(text: str, allowed: bool) -> None:
    assert (unlicensed({"a": text}) == []) is allowed


def test_a_package_that_nobody_knows_is_not_called_sound() -> None:
    """As pip-audit says it, which then adds that there are no known vulnerabilities."""
    document = {
        "dependencies": [
            {"name": "a", "skip_reason": "Dependency not found on PyPI and could not be audited: a (1.0)"},
            {"name": "b", "version": "1.0", "vulns": [{"id": "PYSEC-1", "fix_versions": ["1.1"]}]},
            {"name": "c", "version": "1.0", "vulns": []},
        ]
    }
    assert vulnerable(document) == (["b 1.0: PYSEC-1, fixed in 1.1"], ["a"])
