"""A service is lost with its disk. Elsewhere, its backup shows the same figures as before, and invalid ones since."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import demur
from examples.predict import USUAL
from services.ledger.database import Database
from services.ledger.tables import writer
from services.ledger.unit_ids import parse_unit
from tests.fault.killing import PROJECT, _kill, _start
from tests.services.ledger.recording import counted, read, table
from tests.services.ledger.test_writer import until
from tests.services.monitor.watching import Watch, words

ROWS = 300


@contextmanager
def serving(home: Path) -> Iterator[str]:
    """Where a service listens that is killed at the end, as a power loss kills it."""
    process, address = _start("sqlite", home)
    try:
        yield address.grpc
    finally:
        _kill(process)


def command(home: Path, *arguments: str, url: str = "sqlite") -> subprocess.CompletedProcess[str]:
    """``demur ledger …`` to its end."""
    environment = os.environ | {"DEMUR_HOME": str(home), "DEMUR_LEDGER": url}
    return subprocess.run(
        [sys.executable, "-m", "services.cli", "ledger", *arguments],
        capture_output=True,
        text=True,
        timeout=240,
        cwd=PROJECT,
        env=environment,
    )


def traffic(client: demur.Client, seed: int) -> list[Any]:
    """Rows of all kinds; the ids of their units."""
    source = np.random.default_rng(seed)
    columns = {name: np.full(ROWS, value) for name, value in USUAL.items()}
    columns["stw"] = source.uniform(8, 22, ROWS)
    columns["awind_vcomp_provider"] = source.normal(15, 15, ROWS)
    answer = client.vessel.predict(columns)
    assert answer.recorded
    return list(answer.prediction_ids)


def labelled(client: demur.Client, most: int) -> int:
    """Answers so many requests; how many there were."""
    requests = client.requests.claim(count=most)
    for request in requests:
        client.requests.submit(request, 15_000.0)
    return len(requests)


def shown(url: str, now: float) -> list[str]:
    """All that a monitor that starts from nothing says of a ledger at a moment, to the last digit."""
    watch = Watch(url, now=now)
    try:
        return [repr(window) for window in watch.at().windows]
    finally:
        watch.monitor.close()


def reasons(url: str, now: float) -> dict[str, set[str]]:
    watch = Watch(url, now=now)
    try:
        return {window.window: words(window) for window in watch.at().windows if window.source == "requested"}
    finally:
        watch.monitor.close()


def beats(url: str, moment: float) -> bool:
    """Whether the ledger says that it knows all that was decided before a moment."""
    return all(row["heartbeat"] > moment for row in table(Database(url), writer) if row["ended"] is None)


@pytest.mark.timeout(300)
async def test_a_lost_service_comes_back_with_its_figures(tmp_path: Path) -> None:
    home, elsewhere, backups = tmp_path / "home", tmp_path / "elsewhere", str(tmp_path / "backups")
    old, new = f"sqlite:///{home}/ledger/vessel.db", f"sqlite:///{elsewhere}/ledger/vessel.db"
    with serving(home) as address, demur.connect(address) as client:
        kept = [unit for seed in range(3) for unit in traffic(client, seed)]
        assert labelled(client, 40) == 40
        held = client.requests.claim(count=1)
        moment = time.time()
        await until(lambda: beats(old, moment), 60)
        before = shown(old, moment)
        made = command(home, "backup", "--to", backups, "--json")
        assert made.returncode == 0, made.stderr
        lost = traffic(client, 5)
        assert labelled(client, 40) == 40
        late: list[demur.LabelRequest] = []
        while part := client.requests.claim(count=100):
            late += part
        resolutions = client.resolutions.get(lost)
        deferred = next(resolution.unit for resolution in resolutions if resolution.status != "unknown")
    home.rename(tmp_path / "gone")

    restored = command(elsewhere, "restore", "--from", backups, "--json")
    assert restored.returncode == 0, restored.stderr
    (summary,) = json.loads(restored.stdout)["restored"]
    assert summary["units"] == len(kept) == 3 * ROWS
    assert counted(read(Database(new))) == {parse_unit(unit): 1 for unit in kept}
    assert shown(new, moment) == before, "valid ones and invalid ones, to the last digit"
    assert not any("gap" in window for window in before)
    assert {"gap"} <= set.intersection(*reasons(new, time.time()).values())
    assert command(elsewhere, "verify").returncode == 0

    with serving(elsewhere) as address, demur.connect(address) as client:
        assert client.resolutions.get(deferred).status == "unknown", "it is lost, and nothing else has its id"
        open_one = next(
            resolution.unit for resolution in client.resolutions.get(kept[-ROWS:]) if resolution.status == "pending"
        )
        taken = client.labels.submit([demur.Label(deferred, 15_000.0), demur.Label(open_one, 15_000.0)])
        assert taken.outcomes == ("orphan", "accepted")
        with pytest.raises(demur.DemurError, match="no such request"):
            client.requests.submit(late[-1], 15_000.0)
        client.requests.submit(held[0], 15_000.0)
        assert labelled(client, 40) == 40, "requests that were answered after the backup are asked again"
        fresh = traffic(client, 6)
        assert set(fresh).isdisjoint({*kept, *lost})
        now = time.time()
        await until(lambda: beats(new, now), 60)
        watch = Watch(new, now=now)
        published = watch.at()
        watch.monitor.close()
        assert watch.window("1h").units == len(kept) + ROWS
        orphans = {task: n for (task, source, verdict), n in published.labels.items() if verdict == "orphan"}
        assert sum(orphans.values()) == 1
        assert all("gap" in reason for reason in reasons(new, now).values())
