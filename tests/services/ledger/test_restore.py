"""After a restore: what was erased stays erased, living processes go on, and other means of restoring are settled."""

import asyncio
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ProgrammingError

from models.label_errors import label_rule
from services.cli import main
from services.ledger.backup import maintenance_writer, tombstones
from services.ledger.database import Database
from services.ledger.store import INLINE_BYTES
from services.ledger.tables import gap, item, label, request_event, writer
from tests.services.ledger.backups import backed_up, decide_large, faults, restored
from tests.services.ledger.recording import POWER, counted, read, recording, table
from tests.services.ledger.test_erasure import add_labels
from tests.services.ledger.test_recovery import buried, dying, revive
from tests.services.ledger.test_store import files
from tests.services.ledger.test_writer import until

SECRET = b"the name of a patient "


async def test_what_was_erased_after_the_backup_does_not_come_back(ledger_url: str, tmp_path: Path) -> None:
    home, other = tmp_path / "home", tmp_path / "other"
    url = f"sqlite:///{other}/ledger.db"
    async with recording(ledger_url, home) as recorder:
        epoch = recorder.ledger.writer.epoch
        await decide_large(recorder, [2.0, 2.5, 3.0], [SECRET * 2000, SECRET, b"harmless"])
        await add_labels(recorder, {0: 210.0, 2: 330.0})
        manifest = backed_up(ledger_url, home, tmp_path / "backups")
        assert await recorder.ledger.erasure.erase([(epoch, 0), (epoch, 1), (epoch, 9)], "me", "asked for") == 2
        erasures = list(
            recorder.ledger.writer._read(lambda connection: list(tombstones.erased(connection, manifest.begun)))
        )
    assert sorted(unit for unit, _ in erasures) == [(epoch, 0), (epoch, 1)]
    with (tmp_path / "erasures.csv").open("w") as file:
        tombstones.write(erasures, file)
    listed = tombstones.read(tmp_path / "erasures.csv")
    made = restored(tmp_path / "backups", manifest, url, other, erased=[*listed, (77, 1)])
    assert made.erased == 2
    everything = [path.read_bytes() for path in other.rglob("*") if path.is_file()]
    assert not any(SECRET in content for content in everything)
    assert files(other / "store") == []
    items = {row["sequence"]: row for row in table(Database(url), item)}
    assert [items[n]["payload"] for n in range(3)] == [None, None, b"harmless"]
    assert [items[n]["state"] for n in range(3)] == ["unlabelable", "unlabelable", "requested"]
    labels = {row["sequence"]: row for row in table(Database(url), label)}
    assert labels[0]["error"] == pytest.approx((210 - 200) ** 2), "numbers stay"
    assert labels[2]["value"] == label_rule(POWER).label(330.0)
    assert {row["sequence"] for row in table(Database(url), request_event)} == {0, 1}
    assert faults(url, other) == ()
    again = restored(tmp_path / "backups", manifest, f"sqlite:///{tmp_path}/third/ledger.db", tmp_path / "third")
    assert again.erased == 0, "without the list nobody could know"


async def test_what_is_beyond_the_retention_period_does_not_come_back(tmp_path: Path) -> None:
    url, home = f"sqlite:///{tmp_path}/home/ledger.db", tmp_path / "home"
    async with recording(url, home) as recorder:
        await decide_large(recorder, [2.0], [SECRET * 2000])
        await add_labels(recorder, {0: 210.0})
    manifest = backed_up(url, home, tmp_path / "backups")
    other = f"sqlite:///{tmp_path}/other/ledger.db"
    made = restored(tmp_path / "backups", manifest, other, tmp_path / "other", retired=time.time() + 1)
    assert made.retired == 1
    assert not any(SECRET in path.read_bytes() for path in (tmp_path / "other").rglob("*") if path.is_file())


@pytest.mark.parametrize("text", ["unit,erased\nnonsense,1.0\n", "0123-4\n"])
def test_a_list_that_is_none_is_refused_by_its_line(text: str, tmp_path: Path) -> None:
    (tmp_path / "list").write_text(text)
    with pytest.raises(ValueError, match=r"list, line \d: .* must be an id"):
        tombstones.read(tmp_path / "list")


def test_a_list_of_ids_alone_is_one(tmp_path: Path) -> None:
    (tmp_path / "list").write_text("00000000000000ff-3\n\n0000000000000001-0\n")
    assert tombstones.read(tmp_path / "list") == [(255, 3), (1, 0)]


async def test_processes_that_outlive_their_database_lose_nothing_that_is_still_in_their_journal(
    tmp_path: Path, postgres: Any
) -> None:
    """PostgreSQL is set back below a living service: what is gone is told, with the time from the backup on."""
    url, home = postgres.database(), tmp_path / "home"
    name, made = make_url(url).database, postgres.database()
    async with recording(url, home, 1) as recorder:
        await recorder.decide([0.1, 2.0])
        await until(lambda: len(recorder.units()) == 2)
        await asyncio.to_thread(dump, url, tmp_path / "dump")
        moment = time.time()
        assert (await recorder.decide([3.0]))[0]
        assert (await recorder.decide([0.2]))[0]
        await until(lambda: len(recorder.units()) == 4)
        await asyncio.to_thread(load, made, tmp_path / "dump")
        await asyncio.to_thread(statement, postgres, f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS false', name)
        await asyncio.to_thread(statement, postgres, f'DROP DATABASE "{name}"')
        await asyncio.to_thread(statement, postgres, f'ALTER DATABASE "{make_url(made).database}" RENAME TO "{name}"')
        await until(lambda: recorder.ledger.writer.up and len(recorder.units()) >= 3, 60)
        assert (await recorder.decide([2.0]))[0]
        await until(lambda: bool(table(recorder.database, gap)))
        assert recorder.units() == {(1, 0): 1, (1, 1): 1, (1, 3): 1, (1, 4): 1}
    (lost,) = table(recorder.database, gap)
    assert lost["from_time"] <= moment < lost["to_time"]
    assert lost["units"] == 0


async def test_a_process_of_which_nothing_is_left_says_that_it_was_there(tmp_path: Path, postgres: Any) -> None:
    """The database is set back to before its start."""
    url = postgres.database()
    name, empty = make_url(url).database, make_url(postgres.database()).database
    async with recording(url, tmp_path, 1) as recorder:
        started = table(recorder.database, writer)[0]["started"]
        await recorder.decide([0.1, 2.0])
        await asyncio.to_thread(statement, postgres, f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS false', name)
        await asyncio.to_thread(statement, postgres, f'DROP DATABASE "{name}"')
        await asyncio.to_thread(statement, postgres, f'ALTER DATABASE "{empty}" RENAME TO "{name}"')
        await until(lambda: recorder.ledger.writer.up and bool(_gaps(recorder)), 60)
    (lost,) = table(recorder.database, gap)
    assert lost["from_time"] <= started < lost["to_time"]


def _gaps(recorder: Any) -> list[Any]:
    """None while there is no such table, which the writer makes."""
    try:
        return list(table(recorder.database, gap))
    except ProgrammingError:
        return []


def dump(url: str, target: Path) -> None:
    subprocess.run(["pg_dump", "-Fc", "-f", str(target), libpq(url)], check=True)


def load(url: str, source: Path) -> None:
    subprocess.run(["pg_restore", "--no-owner", "--exit-on-error", "-d", libpq(url), str(source)], check=True)


def libpq(url: str) -> str:
    return url.replace("postgresql+psycopg", "postgresql")


def statement(postgres: Any, words: str, end: str | None = None) -> None:
    import psycopg

    with psycopg.connect(f"postgresql://demur@127.0.0.1:{postgres.port}/postgres", autocommit=True) as connection:
        connection.execute(words)
        if end is not None:
            connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (end,))


@pytest.mark.long
async def test_a_ledger_from_pg_restore_is_settled_by_command(
    tmp_path: Path, postgres: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    url, other, home = postgres.database(), postgres.database(), tmp_path / "home"
    monkeypatch.setattr(maintenance_writer, "_WATCHED_SECONDS", 1.5)
    monkeypatch.setenv("DEMUR_HOME", str(home))
    monkeypatch.setenv("DEMUR_LEDGER_STORE", str(home / "store"))
    async with recording(url, home, 1) as recorder:
        await decide_large(recorder, [2.0, 0.1, 2.0], [SECRET * (INLINE_BYTES // 8), b"", b""])
        await until(lambda: len(recorder.units()) == 3)
        heartbeat = table(recorder.database, writer)[0]["heartbeat"]
        await asyncio.to_thread(dump, url, tmp_path / "dump")
        monkeypatch.setenv("DEMUR_LEDGER", url)
        assert await asyncio.to_thread(main, ["ledger", "settle"]) == 1
        assert "processes write this ledger" in capsys.readouterr().err
        assert not table(recorder.database, gap)
    load(other, tmp_path / "dump")
    monkeypatch.setenv("DEMUR_LEDGER", other)
    (tmp_path / "erasures.csv").write_text("unit,erased\n0000000000000001-0,1.0\n")
    begin = time.time()
    assert await asyncio.to_thread(main, ["ledger", "settle", "--erasures", str(tmp_path / "erasures.csv")]) == 0
    assert "1 units erased again" in capsys.readouterr().out
    (lost,) = table(Database(other), gap)
    assert heartbeat <= lost["from_time"] < begin < lost["to_time"]
    assert all(row["ended"] is not None for row in table(Database(other), writer))
    assert await asyncio.to_thread(main, ["ledger", "verify"]) == 0
    assert "whole, 3 units" in capsys.readouterr().out
    assert {row["sequence"]: row["erased"] is None for row in table(Database(other), item)} == {0: False, 2: True}
    async with recording(other, home, 2) as recorder:
        assert (await recorder.decide([2.0]))[0]
    assert len(counted(read(Database(other)))) == 4


async def test_a_process_that_is_lost_with_its_disk_is_told_of_while_others_serve(
    tmp_path: Path, postgres: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    url = postgres.database()
    monkeypatch.setattr(maintenance_writer, "_WATCHED_SECONDS", 1.5)
    monkeypatch.setenv("DEMUR_LEDGER", url)
    monkeypatch.setenv("DEMUR_HOME", str(tmp_path / "operator"))
    lost = await dying(url, tmp_path / "lost", 1, [2.0, 0.1])
    await buried(lost)
    await revive(url, 1)
    async with recording(url, tmp_path / "home", 2) as recorder:
        assert await asyncio.to_thread(main, ["ledger", "settle", "--writer", "0000000000000002"]) == 1
        assert "processes write this ledger" in capsys.readouterr().err
        until_when = time.time()
        words = ["ledger", "settle", "--writer", "0000000000000001", "--until", str(until_when)]
        assert await asyncio.to_thread(main, words) == 0
        assert await asyncio.to_thread(main, words) == 1
        assert "writer = 0000000000000001: must be an open writer" in capsys.readouterr().err
        assert (await recorder.decide([2.0]))[0]
        ended = {row["epoch"]: row["ended"] is not None for row in table(recorder.database, writer)}
    assert (ended[1], ended[2]) == (True, False)
    (gap_row,) = table(Database(url), gap)
    assert gap_row["from_time"] < gap_row["to_time"] == until_when


def test_commands_say_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DEMUR_HOME", str(tmp_path))
    for words, message in (
        (["backup", "--to", str(tmp_path / "b")], "no ledger at all"),
        (["verify", "--from", str(tmp_path / "b")], "no backups in"),
        (["restore", "--from", str(tmp_path / "b")], "no backups in"),
        (["restore", "--from", str(tmp_path / "b"), "--ledger", "vessel"], "no backup at all of vessel"),
        (["restore", "--from", str(tmp_path / "b"), "--erasures", str(tmp_path / "none")], "--erasures"),
    ):
        assert main(["ledger", *words]) in (1, 2)
        assert message in capsys.readouterr().err
    monkeypatch.setenv("DEMUR_LEDGER", "none")
    assert main(["ledger", "erasures"]) == 1
    assert not os.listdir(tmp_path)  # noqa: PTH208
