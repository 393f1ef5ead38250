"""The contract of transports against a server that keeps it and one that breaks it; tables; how fast is not judged."""

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import pytest

from benchmarks.connections import _CODED_STATUS, _grpc_status
from benchmarks.race.contenders import Ports
from benchmarks.race.environments import LeftOut
from benchmarks.race.table import MEASURES, Entry
from benchmarks.transports.__main__ import race
from benchmarks.transports.contenders import REQUIREMENTS, Transport, all_transports
from benchmarks.transports.contract import NAMES, PASSED, Options, contract
from benchmarks.transports.table import Results, page
from tests.benchmarks import defective_grpc

KEPT = dict.fromkeys(NAMES, PASSED)


def entry(name: str, cpu_ms: float) -> Entry:
    measures = dict.fromkeys(MEASURES, 1.0) | {"cpu_ms": cpu_ms}
    return Entry(name, "floor", "gRPC", (measures, measures))


def results(cpu_ms: float, outcomes: Mapping[str, str]) -> Results:
    entries = (entry("grpcio", 0.2), entry("other", cpu_ms))
    return Results("a machine", 3, 2.0, entries, {"grpcio": KEPT, "other": outcomes}, {"absent": "no such version"})


@pytest.mark.slow
def test_our_server_keeps_the_contract() -> None:
    assert contract(all_transports()[0].start) == KEPT


@pytest.mark.slow
def test_each_check_can_fail() -> None:
    """Each of them does so with a server that has all the defects."""
    wrong = Transport("defective", "grpc_server.py", arguments=("--library", defective_grpc.__name__))
    outcomes = contract(wrong.start)
    assert list(outcomes) == list(NAMES)
    assert [name for name, outcome in outcomes.items() if outcome == PASSED] == []


def test_checks_of_a_server_that_does_not_start_have_its_reason() -> None:
    def start(options: Options) -> object:
        raise LeftOut("does not start: no such option")

    assert contract(start) == dict.fromkeys(NAMES, "does not start: no such option")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("cpu_ms", "outcomes", "chosen"),
    [
        (0.1, KEPT, ["other"]),
        (0.101, KEPT, []),
        (0.01, KEPT | {"TLS": "not offered"}, []),
        (0.01, {}, []),
    ],
)
def test_the_default_changes_only_for_half_the_cost_and_the_whole_contract(
    cpu_ms: float, outcomes: Mapping[str, str], chosen: list[str]
) -> None:
    found = results(cpu_ms, outcomes)
    assert found.candidates() == chosen
    assert page(found).endswith(f"whole contract: {', '.join(chosen) or 'none'}.")


def test_a_page_says_what_is_broken_and_who_is_left_out() -> None:
    text = page(results(0.05, KEPT | {"TLS": "not offered"}))
    assert "| 4.00 x | 15 of 16 |" in text
    assert "| TLS | yes | no |" in text
    assert "- other, TLS: not offered" in text
    assert "- absent: no such version" in text


def test_results_survive_json() -> None:
    found = results(0.1, KEPT)
    assert Results.read(json.loads(json.dumps(asdict(found)))) == found


def test_one_that_does_not_start_is_left_out_of_the_measures() -> None:
    absent = Transport("absent", "no_such_script.py")
    found = race([absent], 2, 0.1, lambda line: None)
    assert found.entries == ()
    assert "does not start" in found.left_out["absent"]
    assert set(found.contracts["absent"]) == set(NAMES)


def test_options_are_arguments_only_if_given() -> None:
    assert Options().arguments() == []
    options = Options(most_streams=4, certificate=Path("server.pem"))
    assert options.arguments() == ["--most-streams", "4", "--certificate", "server.pem"]


def test_versions_are_pinned_and_our_grpcio_is_the_one_of_this_environment() -> None:
    first, *others = all_transports()
    assert first.command(Options())(Ports(1, 2, 3), Path())[0] == sys.executable
    assert {f"{each.environment}.txt" for each in others} == {path.name for path in REQUIREMENTS.glob("*.txt")}
    for path in REQUIREMENTS.glob("*.txt"):
        lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
        assert all(line.count("==") == 1 for line in lines), path


@pytest.mark.parametrize(
    ("number", "coded", "name"),
    [(0, "07", "OK"), (1, "0f", "CANCELLED"), (8, "7b", "RESOURCE_EXHAUSTED"), (14, "0b5f", "UNAVAILABLE")],
)
def test_a_status_is_read_plain_and_in_huffman_s_code(number: int, coded: str, name: str) -> None:
    """Codes are those of the appendix of RFC 7541."""
    text, value = str(number).encode(), bytes.fromhex(coded)
    assert _grpc_status(b"\x00\x0bgrpc-status" + bytes([len(text)]) + text) == (name, False)
    block = b"\x00" + bytes([0x80 | len(_CODED_STATUS)]) + _CODED_STATUS + bytes([0x80 | len(value)]) + value
    assert _grpc_status(block) == (name, False)
