"""Speed of the simulators, measured on few rows."""

import re
from types import SimpleNamespace

import pytest

from benchmarks import simulators


def test_seconds_are_those_of_the_processor(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(simulators, "WEATHER_SCALE", 0.0005)
    assert simulators.main(["weather"]) == 0
    first, second, where = capsys.readouterr().out.splitlines()
    rows, drawn = re.fullmatch(r"weather: (\d+) rows, ([\d.]+) µs a row", first).groups()  # type: ignore[union-attr]
    assert int(rows) > 1000
    assert float(drawn) > 0
    assert re.fullmatch(r"weather: as CSV [\d.]+ µs a row", second)
    assert where.startswith("cpu ")


def test_time_that_passes_idle_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    clocks = {"perf_counter": 0.0, "monotonic": 0.0, "time": 0.0, "process_time": 0.0}
    fakes = {name: lambda name=name: clocks[name] for name in clocks}  # type: ignore[misc]
    monkeypatch.setattr(simulators, "time", SimpleNamespace(**fakes))

    def call() -> str:
        for name in clocks:
            clocks[name] += 2.0 if name == "process_time" else 5.0
        return "done"

    assert simulators.timed(call) == ("done", 2.0)


def test_unknown_tasks_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        simulators.main(["ships"])
    assert "must be of vessel, weather, lesion, motion" in capsys.readouterr().err
