"""A backup holds all that was acknowledged before it began; a restore says what it cannot know."""

import asyncio
import os
import time
from pathlib import Path

import pytest

from services.ledger import ledger as ledgers
from services.ledger.backup.archive import DATABASE, MANIFEST, Archive, BadBackup
from services.ledger.backup.database_copy import snapshot
from services.ledger.database import Database, LedgerRefused
from services.ledger.store import INLINE_BYTES, ORPHAN_SECONDS
from services.ledger.tables import gap, item, label, metadata, schema_version, segment, writer
from tests.services.ledger.backups import backed_up, decide_large, faults, quiet, restored
from tests.services.ledger.recording import counted, read, recording, table
from tests.services.ledger.test_erasure import add_labels
from tests.services.ledger.test_recovery import buried, dying, nothing
from tests.services.ledger.test_store import files
from tests.services.ledger.test_writer import until


async def test_what_was_acknowledged_before_a_backup_is_in_it_once_while_more_comes(
    ledger_url: str, tmp_path: Path
) -> None:
    home, other = tmp_path / "home", tmp_path / "other"
    acknowledged: list[tuple[float, int]] = []
    async with recording(ledger_url, home) as recorder:
        end = asyncio.Event()

        async def ask() -> None:
            while not end.is_set():
                recorded, ids = await recorder.decide(
                    [0.1, 0.3, 2.0, 0.2] if len(acknowledged) % 3 else [0.1], rate=0.2
                )
                if recorded:
                    acknowledged.append((time.time(), ids.first))
                await asyncio.sleep(0)

        asking = asyncio.create_task(ask())
        await until(lambda: len(acknowledged) > 60, 60)
        manifests = [await asyncio.to_thread(backed_up, ledger_url, home, tmp_path / "backups") for _ in range(3)]
        end.set()
        await asking
        epoch = recorder.ledger.writer.epoch
    for number, manifest in enumerate(manifests):
        url = f"sqlite:///{other / str(number)}/ledger.db"
        made = restored(tmp_path / "backups", manifest, url, other / str(number))
        units = counted(read(Database(url)))
        before = {first for when, first in acknowledged if when < manifest.begun}
        assert len(before) > 20
        assert {(epoch, first) for first in before} <= set(units)
        assert set(units.values()) == {1}
        assert faults(url, other / str(number)) == ()
        assert made.report.units == len(units) >= manifest.units
        (lost,) = table(Database(url), gap)
        assert lost["from_time"] <= manifest.begun <= manifest.finished <= lost["to_time"]
        after = [when for when, first in acknowledged if (epoch, first) not in units]
        assert all(when > lost["from_time"] for when in after)
        assert all(row["ended"] is not None for row in table(Database(url), writer))


async def test_the_journal_of_a_killed_process_is_part_of_the_backup(
    ledger_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledgers.DurableLedger, "_write_background", nothing)
    home = tmp_path / "home"
    dead = await dying(ledger_url, home, 1, [0.1, 0.2, 2.0, 0.3])
    await buried(dead)
    assert len(counted(read(dead.database))) == (not dead.ledger.writer.local), "the others are in the journal alone"
    manifest = backed_up(ledger_url, home, tmp_path / "backups")
    assert [journal.whole for journal in manifest.journals] == [True]
    url = f"sqlite:///{tmp_path}/other/ledger.db"
    made = restored(tmp_path / "backups", manifest, url, tmp_path / "other", nothing_lost=True)
    assert counted(read(Database(url))) == {(1, n): 1 for n in range(4)}
    assert made.losses == ()
    assert table(Database(url), gap) == []


async def test_a_journal_that_outlived_its_database_goes_into_the_restored_one_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file was damaged, the disk is whole: what was decided after the backup is not lost."""
    monkeypatch.setattr(ledgers, "TEND_SECONDS", 30.0)
    home, url = tmp_path / "home", f"sqlite:///{tmp_path}/home/ledger.db"
    dead = await dying(url, home, 1, [0.1, 0.2])
    manifest = backed_up(url, home, tmp_path / "backups")
    for score in (0.3, 2.0, 0.4):
        assert (await dead.decide([score]))[0]
    await buried(dead)
    for path in home.glob("ledger.db*"):
        path.unlink()
    made = restored(tmp_path / "backups", manifest, url, home)
    assert counted(read(Database(url))) == {(1, 0): 1, (1, 1): 1}
    monkeypatch.setattr(ledgers, "TEND_SECONDS", 0.05)
    async with recording(url, home, 2):
        await until(lambda: not list(home.glob("*-0000000000000001.journal")))
    assert counted(read(Database(url))) == {(1, n): 1 for n in range(5)}
    (lost,) = table(Database(url), gap)
    assert (lost["from_time"], lost["to_time"]) == (made.losses[0].start, made.losses[0].end)
    assert faults(url, home) == ()


async def test_a_ledger_goes_from_one_kind_of_database_to_the_other_and_on(tmp_path: Path, postgres) -> None:
    home, there, back = tmp_path / "home", postgres.database(), f"sqlite:///{tmp_path}/back/ledger.db"
    async with recording(f"sqlite:///{home}/ledger.db", home) as recorder:
        await recorder.decide([2.0, float("nan"), 0.5, 3.0], rate=0.5)
        await add_labels(recorder, {0: 210.0, 3: 320.0})
    manifest = backed_up(f"sqlite:///{home}/ledger.db", home, tmp_path / "backups")
    restored(tmp_path / "backups", manifest, there, home, nothing_lost=True)
    assert rows(there) == rows(f"sqlite:///{home}/ledger.db")
    async with recording(there, tmp_path / "new", 5) as recorder:  # numbers of rows go on behind those that came
        await recorder.decide([4.0])
        await add_labels(recorder, {0: 1.0})
    assert sorted(row["id"] for row in table(Database(there), label)) == [1, 2, 3]
    again = backed_up(there, tmp_path / "new", tmp_path / "backups")
    restored(tmp_path / "backups", again, back, tmp_path / "back", nothing_lost=True)
    assert rows(back) == rows(there)
    with pytest.raises(LedgerRefused, match="tables of a ledger already"):
        restored(tmp_path / "backups", again, there, tmp_path / "back")


def rows(url: str) -> dict[str, list[str]]:
    """All that is in a ledger, but for when its schema was made."""
    contents = {}
    for each_table in metadata.sorted_tables:
        if each_table is not schema_version:
            contents[each_table.name] = sorted(repr(sorted(row.items())) for row in table(Database(url), each_table))
    return contents


async def test_contents_are_copied_once_and_old_backups_take_theirs_along(tmp_path: Path) -> None:
    url, home, archive = f"sqlite:///{tmp_path}/home/ledger.db", tmp_path / "home", Archive(str(tmp_path / "backups"))
    contents = [bytes([n]) * (INLINE_BYTES + 1) for n in range(3)]
    async with recording(url, home) as recorder:
        await decide_large(recorder, [2.0, 2.0], contents[:2])
        first = backed_up(url, home, archive)
        kept = {path: path.stat().st_ino for path in files(tmp_path / "backups" / "store")}
        assert (len(kept), first.contents) == (2, 2)
        epoch = recorder.ledger.writer.epoch
        assert await recorder.ledger.erasure.erase([(epoch, 0)], "me", "asked for") == 1
        await decide_large(recorder, [2.0], contents[2:])
        second = backed_up(url, home, archive)
        now = {path: path.stat().st_ino for path in files(tmp_path / "backups" / "store")}
        assert (len(now), second.contents) == (3, 2)
        assert kept.items() <= now.items(), "not written again"
    assert archive.names("toy") == [first.name, second.name]
    for path in now:
        os.utime(path, (time.time() - 2 * ORPHAN_SECONDS,) * 2)
    assert archive.keep("toy", 1) == [first.name]
    assert archive.names("toy") == [second.name]
    left = [archive.store.get(reference) for reference in read_references(tmp_path, second.name)]
    assert sorted(left) == contents[1:]
    assert len(files(tmp_path / "backups" / "store")) == 2


def read_references(folder: Path, name: str) -> list[str]:
    return (folder / "backups" / "toy" / name / "references").read_text().split()


async def test_a_backup_lies_at_any_address(tmp_path: Path) -> None:
    """Memory stands for an object store: files there cannot be touched, nor moved into."""
    url, home, archive = f"sqlite:///{tmp_path}/home/ledger.db", tmp_path / "home", Archive("memory://demur-backups")
    async with recording(url, home) as recorder:
        await decide_large(recorder, [2.0], [bytes(INLINE_BYTES + 1)])
        manifest = backed_up(url, home, archive)
        assert backed_up(url, home, archive).contents == 1
    assert archive.ledgers() == ["toy"]
    assert archive.manifest("toy", manifest.name) == manifest
    made = restored(archive, manifest, f"sqlite:///{tmp_path}/other/ledger.db", tmp_path / "other")
    assert made.report.units == 1
    assert faults(f"sqlite:///{tmp_path}/other/ledger.db", tmp_path / "other") == ()
    assert archive.keep("toy", 1) == [manifest.name]


async def test_what_is_not_as_it_was_made_is_refused_and_nothing_is_there_then(tmp_path: Path) -> None:
    url, home, archive = f"sqlite:///{tmp_path}/home/ledger.db", tmp_path / "home", tmp_path / "backups"
    async with recording(url, home) as recorder:
        await decide_large(recorder, [2.0, 0.1], [bytes(INLINE_BYTES + 1)])
        manifest = backed_up(url, home, archive)
    target = tmp_path / "other" / "ledger.db"

    def refused(words: str) -> None:
        with pytest.raises(BadBackup, match=words):
            restored(archive, manifest, f"sqlite:///{target}", tmp_path / "other")
        assert not target.exists() or target.stat().st_size == 0
        assert [path for path in target.parent.glob("*.restore-*")] == []

    place = archive / "toy" / manifest.name
    whole = (place / DATABASE).read_bytes()
    (place / DATABASE).write_bytes(whole[:5000] + b"x" + whole[5001:])
    refused("ledger.db was altered")
    (place / DATABASE).write_bytes(whole)
    (content,) = files(archive / "store")
    kept = content.read_bytes()
    content.write_bytes(b"another")
    refused("was altered")
    content.unlink()
    refused("not in the store")
    content.write_bytes(kept)
    (place / "references").rename(place / "away")
    refused("references is missing")
    (place / "away").rename(place / "references")
    (place / MANIFEST).rename(place / "away")
    with pytest.raises(BadBackup, match="no backup"):
        Archive(str(archive)).manifest("toy", manifest.name)
    (place / "away").rename(place / MANIFEST)
    restored(archive, manifest, f"sqlite:///{target}", tmp_path / "other")
    with pytest.raises(LedgerRefused, match="nothing is overwritten"):
        restored(archive, manifest, f"sqlite:///{target}", tmp_path / "other")
    target.rename(target.with_suffix(".away"))
    target.with_name("ledger.db-wal").touch()
    with pytest.raises(LedgerRefused, match=r"ledger\.db-wal"):
        restored(archive, manifest, f"sqlite:///{target}", tmp_path / "other")


async def test_a_damaged_ledger_is_not_backed_up(tmp_path: Path) -> None:
    """Its backup would take the place of the last good one."""
    url, home = f"sqlite:///{tmp_path}/home/ledger.db", tmp_path / "home"
    async with recording(url, home) as recorder:
        await recorder.decide([2.0, 0.1], rate=1.0)
    engine = Database(url).writing()
    with engine.begin() as connection:
        connection.exec_driver_sql("UPDATE item SET sequence = 77 WHERE sequence = 1")
        connection.exec_driver_sql("UPDATE segment SET body = substr(body, 2) WHERE 1")
        connection.exec_driver_sql("UPDATE item SET flush = 1000 WHERE sequence = 77")
    engine.dispose()
    with pytest.raises(BadBackup) as refused:
        backed_up(url, home, tmp_path / "backups")
    for words in ("1 segments cannot be read", "2 items belong to no unit", "behind their writer's last flush"):
        assert words in str(refused.value)
    assert Archive(str(tmp_path / "backups")).ledgers() == []


async def test_a_backup_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    url, home = f"sqlite:///{tmp_path}/home/ledger.db", tmp_path / "home"
    async with recording(url, home) as recorder:
        await recorder.decide([2.0])
    copy = tmp_path / "copy.db"
    snapshot(Database(url), copy, quiet)
    manifest = backed_up(url, home, tmp_path / "backups")
    place = tmp_path / "backups" / "toy" / manifest.name / MANIFEST
    place.write_text(place.read_text().replace('"format": 1', '"format": 2'))
    with pytest.raises(BadBackup, match="another version"):
        Archive(str(tmp_path / "backups")).manifest("toy")
    assert table(Database(f"sqlite:///{copy}"), item) == table(Database(url), item)


async def test_units_that_are_in_two_segments_are_a_fault(ledger_url: str, tmp_path: Path) -> None:
    async with recording(ledger_url, tmp_path) as recorder:
        await recorder.decide([0.1, 0.2, 0.3])
        await recorder.decide([0.4])
        epoch = recorder.ledger.writer.epoch
    assert faults(ledger_url, tmp_path) == ()
    database = Database(ledger_url)
    rows = table(database, segment)
    engine = database.writing()
    with engine.begin() as connection:
        last = max(row["flush"] for row in rows)
        connection.execute(segment.insert(), [{**row, "flush": last + 1 + place} for place, row in enumerate(rows)])
    engine.dispose()
    (fault,) = [text for text in faults(ledger_url, tmp_path) if "more than once" in text]
    assert f"{epoch:016x}-3" in fault  # of one unit: it overlaps by this unit alone
