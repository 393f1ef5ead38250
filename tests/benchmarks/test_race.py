"""Tables, ratios and arguments of the race and of the split; how fast anything is is not judged here."""

import json
import math
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks import split
from benchmarks.markdown import BEGIN, END, replaced
from benchmarks.race import bodies, environments
from benchmarks.race.__main__ import PAGE, race
from benchmarks.race.contenders import Contender, all_contenders
from benchmarks.race.environments import LeftOut
from benchmarks.race.rounds import parser
from benchmarks.race.servers import deferring
from benchmarks.race.table import MEASURES, SHORT_RUN, Entry, Results, figures, page
from benchmarks.split import Split
from demur.v1 import vessel_pb2


def entry(contender: str, group: str, lane: str, *rates: float, **measures: float) -> Entry:
    values = dict.fromkeys(MEASURES, 1.0) | measures
    return Entry(contender, group, lane, tuple(values | {"rate": rate} for rate in rates or (1.0,)))


RESULTS = Results(
    "a machine",
    3,
    2.0,
    {"1": 0.05, "1000": 2.0},
    {"Triton, Python backend": "its environment cannot be made: no such version"},
    (
        entry("Demur", "demur", "gRPC", 900.0, 1000.0, 1400.0, cpu_ms=0.5, one_p50_ms=0.8, many_p50_ms=2.6),
        entry("Demur", "demur", "HTTP protobuf", 3000.0, cpu_ms=0.3, many_p50_ms=2.6),
        entry("Demur, no ledger", "demur", "HTTP protobuf", 9000.0),
        entry("echo, gRPC", "floor", "gRPC", 7000.0, cpu_ms=0.25, one_p50_ms=0.5),
        entry("prototype, ASGI", "floor", "HTTP protobuf", 8000.0, cpu_ms=0.2),
        entry("KServe", "peer", "OIP gRPC", 500.0),
        entry("MLServer", "peer", "OIP gRPC", 400.0),
        entry("LitServe", "peer", "HTTP JSON", 1000.0),
    ),
)


def test_ratios_are_those_of_medians_and_of_the_best_peer() -> None:
    measured = {figure.name: (round(figure.value, 6), figure.met) for figure in figures(RESULTS)}
    assert measured == {
        "HTTP protobuf CPU over ASGI prototype": (1.5, True),
        "gRPC CPU over bare echo": (2.0, True),
        "calls/s, best protocol over the best peer's": (3.0, True),
        "calls/s, gRPC over the best peer's gRPC": (2.0, True),
        "gRPC, one row p50 over bare echo": (0.3, False),
        "1000 rows over in process, gRPC": (1.3, True),
        "1000 rows over in process, HTTP protobuf": (1.3, False),
    }


def test_floors_and_a_service_without_a_ledger_are_no_peers_and_not_judged() -> None:
    """Both are faster than what is judged; neither may decide a ratio of rates."""
    without = replace(RESULTS, entries=tuple(each for each in RESULTS.entries if each.group != "peer"))
    assert not [figure for figure in figures(without) if "best peer" in figure.name]


def test_spread_is_half_the_range_over_rounds() -> None:
    grpc = RESULTS.entry("Demur", "gRPC")
    assert grpc is not None
    assert grpc.median("rate") == 1000
    assert math.isclose(grpc.spread("rate"), 0.25)
    assert "1,000 ±25%" in page(RESULTS)


def test_a_page_names_the_machine_and_who_is_left_out() -> None:
    text = page(RESULTS)
    assert "Machine: a machine" in text
    assert "- Triton, Python backend: its environment cannot be made: no such version" in text
    assert "| gRPC, one row p50 over bare echo | 0.30 ms | ≤ 0.22 | missed |" in text


@pytest.mark.parametrize(("rounds", "short"), [(1, True), (2, True), (3, False)])
def test_a_short_run_is_called_one(rounds: int, short: bool) -> None:
    assert (SHORT_RUN in page(replace(RESULTS, rounds=rounds))) is short


def test_results_survive_json() -> None:
    assert Results.read(json.loads(json.dumps(asdict(RESULTS)))) == RESULTS


def test_results_replace_what_stands_between_the_marks() -> None:
    text = f"# Title\n\n{BEGIN}\n\nold\n\n{END}\n\nmore\n"
    assert replaced(text, "new") == f"# Title\n\n{BEGIN}\n\nnew\n\n{END}\n\nmore\n"
    assert replaced(replaced(text, "new"), "new") == replaced(text, "new")
    for wrong in ("no marks", f"{END} {BEGIN}", BEGIN):
        with pytest.raises(ValueError, match="must contain"):
            replaced(wrong, "new")


def test_arguments() -> None:
    names = [contender.name for contender in all_contenders()]
    arguments = parser("race", None, names, PAGE)
    assert arguments.parse_args([]).only == names
    options = arguments.parse_args(["--only", "Demur", "KServe", "--rounds", "2", "--page"])
    assert (options.only, options.rounds, options.page) == (["Demur", "KServe"], 2, PAGE)
    for wrong in (["--only", "nobody"], ["--rounds", "0"], ["--rounds", "1.5"]):
        with pytest.raises(SystemExit):
            arguments.parse_args(wrong)


def test_each_peer_has_pinned_requirements_without_torch() -> None:
    files = sorted(environments.REQUIREMENTS.glob("*.txt"))
    assert [path.stem for path in files] == ["kserve", "litserve", "mlserver", "triton"]
    versions = set()
    for path in files:
        lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
        assert all(line.count("==") == 1 for line in lines), path
        assert not [line for line in lines if line.startswith("torch")], path
        versions |= {line for line in lines if line.startswith("onnxruntime")}
    assert len(versions) == 1, "all run the graph with the same version"


def test_an_environment_that_cannot_be_made_leaves_out_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environments, "REQUIREMENTS", tmp_path)
    monkeypatch.setitem(environments._INTERPRETERS, "absent", str(tmp_path / "python"))
    (tmp_path / "absent.txt").write_text("nothing==1\n")
    with pytest.raises(LeftOut, match="cannot be made"):
        environments.python_of("absent", tmp_path)


def test_who_does_not_start_is_left_out_of_later_rounds() -> None:
    starts = []

    def start(cores: set[int]) -> Any:
        starts.append(cores)
        raise LeftOut("no such library")

    results = race([Contender("X", "peer", start, (bodies.OIP_JSON,))], 3, 0.1, lambda line: None)
    assert len(starts) == 1
    assert results.left_out == {"X": "no such library"}
    assert results.entries == ()


def test_the_graph_alone_is_measured_in_each_round_and_its_median_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([1.0, 5.0, 2.0])
    monkeypatch.setattr("benchmarks.race.__main__.in_process", lambda seconds, course: {"1000": next(times)})
    assert race([], 3, 0.1, lambda line: None).in_process_ms == {"1000": 2.0}


@pytest.mark.parametrize("count", bodies.COUNTS)
def test_the_prototype_answers_every_row_and_journals_it(tmp_path: Path, count: int) -> None:
    answer = deferring.opened(str(tmp_path), threshold=0.0)
    response = vessel_pb2.VesselPredictResponse.FromString(answer(bodies.body("protobuf", count)))
    assert len(response.power.mean) == 4 * count
    assert (tmp_path / "journal").stat().st_size == deferring.RECORD.itemsize * count


def test_counts_of_perf_without_those_that_the_machine_lacks() -> None:
    text = "1234,,context-switches,1000,100.00,,\n<not supported>,,instructions:u,0,100.00,,\n5.5,,cache-misses,1,1,,\n"
    assert split.parsed(f"\n# started\n{text}") == {"context-switches": 1234, "cache-misses": 5.5}
    assert split.parsed("perf: permission denied") == {}


def test_switches_and_waits_are_those_of_all_threads(tmp_path: Path) -> None:
    for pid, thread, counts in ((7, 7, (3, 4)), (7, 8, (10, 20)), (9, 9, (100, 200))):
        place = tmp_path / str(pid) / "task" / str(thread)
        place.mkdir(parents=True)
        names = ("voluntary_ctxt_switches", "nonvoluntary_ctxt_switches")
        lines = [f"{name}:\t{count}" for name, count in zip(names, counts, strict=True)]
        (place / "status").write_text("Name:\tx\n" + "\n".join(lines) + "\n")
        (place / "schedstat").write_text(f"5 {counts[1]}000000 6\n")
    service: Any = SimpleNamespace(tree=lambda: [SimpleNamespace(pid=7)])
    assert split.switches(service, tmp_path) == 37
    assert math.isclose(split.waits(service, tmp_path), 0.024)
    assert math.isnan(split.waits(service, tmp_path / "none"))


def test_a_split_is_for_each_answered_call_and_says_what_is_refused_and_not_visible() -> None:
    cells = list(Split("gRPC", 16, 200, 600, 0.1, 0.02, 0.03, {"context-switches": 900.0}, "/proc").cells())
    assert cells == [
        "gRPC",
        "16",
        "200",
        "75%",
        "0.500",
        "0.100",
        "0.150",
        "4.50",
        "not visible",
        "not visible",
        "/proc",
    ]
    assert "not visible" in split.table([Split("gRPC", 16, 200, 0, 0.1, 0.02, 0.03)])
