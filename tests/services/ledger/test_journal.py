"""The journal: whole frames or none, whatever happens to the disk, the process or the file."""

import os
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from services.ledger.decided import Decided, Key, frame, unframe
from services.ledger.gap_log import Lost
from services.ledger.journal import HEAD_BYTES, Identity, Journal
from services.policy.decision import Decision

WHO = Identity(7, bytes(32), b"ledger" * 2 + b"1234")
MOST = 1 << 20


def make(directory: Path, most: int = MOST) -> Journal:
    for left in directory.glob("toy-*"):
        left.unlink()
    return Journal.create(directory, "toy", WHO, most)


def taken(journal: Journal) -> Journal:
    """The same file as the next process finds it after a kill."""
    journal.close()
    taken_over = Journal.take_over(journal.path)
    assert taken_over is not None
    return taken_over


def everything(journal: Journal, start: int = 0) -> list[bytes]:
    collected, place = [], start
    while True:
        frames, after = journal.read(place, 100)
        if after == place:
            return collected
        collected, place = collected + frames, after


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40)
@given(st.lists(st.binary(min_size=1, max_size=300), max_size=40), st.integers(1, 5000))
def test_what_was_appended_is_read_by_the_next_process(tmp_path: Path, contents: list[bytes], most: int) -> None:
    journal = make(tmp_path)
    for content in contents:
        journal.append([content])
    again = taken(journal)
    assert everything(again) == contents
    assert again.identity == WHO
    again.close()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(st.lists(st.binary(min_size=1, max_size=50), min_size=1, max_size=10), st.data())
def test_a_file_that_was_cut_anywhere_gives_the_frames_before(tmp_path: Path, contents, data: st.DataObject) -> None:
    journal = make(tmp_path)
    ends = []
    for content in contents:
        journal.append([content])
        ends.append(journal.nbytes)
    cut = data.draw(st.integers(0, journal.nbytes))
    os.truncate(journal.path, HEAD_BYTES + cut)
    again = taken(journal)
    assert everything(again) == contents[: sum(end <= cut for end in ends)]
    again.close()


def test_zeros_behind_the_last_frame_are_no_frames(tmp_path: Path) -> None:
    """A power failure may leave a file longer than what was written into it."""
    journal = make(tmp_path)
    journal.append([b"one", b"two"])
    with journal.path.open("ab") as file:
        file.write(bytes(100))
    assert everything(taken(journal)) == [b"one", b"two"]


def test_a_damaged_frame_ends_the_journal(tmp_path: Path) -> None:
    journal = make(tmp_path)
    for content in (b"one", b"two", b"three"):
        journal.append([content])
    with journal.path.open("r+b") as file:
        file.seek(HEAD_BYTES + 8 + 3 + 8)
        file.write(b"T")
    assert everything(taken(journal)) == [b"one"]


def test_places_go_on_when_the_file_is_emptied(tmp_path: Path) -> None:
    journal = make(tmp_path)
    journal.append([b"early"] * 10)
    end = journal.end
    journal.empty(end - 1)
    assert journal.nbytes > 0, "not all of it was in segments"
    journal.empty(end)
    assert (journal.end, journal.nbytes, journal.path.stat().st_size) == (end, 0, HEAD_BYTES)
    journal.append([b"late"])
    again = taken(journal)
    assert everything(again, end) == everything(again, 0) == [b"late"]
    assert again.end == end + 12


def test_a_kill_between_cutting_and_telling_loses_and_repeats_nothing(tmp_path: Path) -> None:
    journal = make(tmp_path)
    journal.append([b"early"] * 10)
    end = journal.end
    os.truncate(journal.path, HEAD_BYTES)
    again = taken(journal)
    assert again.end < end
    assert everything(again, end) == []


def test_a_live_process_keeps_its_journal(tmp_path: Path) -> None:
    journal = make(tmp_path)
    assert Journal.take_over(journal.path) is None
    journal.close()
    taken_over = Journal.take_over(journal.path)
    assert taken_over is not None
    assert Journal.take_over(journal.path) is None
    assert Journal.take_over(tmp_path / "none.journal") is None
    (tmp_path / "odd.journal").write_bytes(b"no journal")
    assert Journal.take_over(tmp_path / "odd.journal") is None


def test_it_takes_no_more_than_it_may_and_all_frames_of_a_portion_or_none(tmp_path: Path) -> None:
    journal = make(tmp_path, most=100)
    journal.append([b"x" * 40])
    with pytest.raises(OSError, match="journal = 48 bytes: must stay within 100 bytes"):
        journal.append([b"y" * 10, b"z" * 60])
    journal.append([b"y" * 10])
    assert everything(taken(journal)) == [b"x" * 40, b"y" * 10]


def test_a_write_that_is_cut_short_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = make(tmp_path)
    journal.append([b"one"])
    write = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda file, data, place: write(file, data[:-2], place))
    with pytest.raises(OSError, match="disk is full"):
        journal.append([b"two"])
    monkeypatch.undo()
    journal.append([b"three"])
    assert everything(taken(journal)) == [b"one", b"three"]


def test_losses_stand_in_the_head(tmp_path: Path) -> None:
    journal = make(tmp_path)
    journal.append([b"one"])
    journal.note_lost(Lost(1.0, 2.0, 5))
    again = taken(journal)
    assert again.lost == Lost(1.0, 2.0, 5)
    again.note_lost(None)
    assert taken(again).lost is None


def test_frames_hold_units_by_key() -> None:
    generator = np.random.default_rng(1)
    answer, caller = Decision.ANSWER, Decision.CALLER_DEFERRED

    def decided(first: int, n: int, rate, policy: str = "p1", mixed: bool = False) -> Decided:
        decisions = np.where(generator.random(n) < 0.5 * mixed, caller, answer).astype(np.uint8)
        key = Key("power", "m:1", policy, "decide")
        return Decided(key, first, generator.random(n).astype(np.float32), decisions, rate, time=float(first))

    portions = [
        decided(0, 1, 0.01),
        decided(1, 5, 0.01, mixed=True),
        decided(6, 3, generator.random(3).astype(np.float32)),
        decided(9, 2, 0.02, policy="p2"),
        decided(11, 1, 0.01),
    ]
    runs_by_key, itemised = unframe([frame(piece) for piece in portions])
    assert itemised == []
    assert {key.policy: len(units) for key, units in runs_by_key.items()} == {"p1": 10, "p2": 2}
    unit_runs = runs_by_key[Key("power", "m:1", "p1", "decide")]
    by_sequence = {n: i for i, n in enumerate(unit_runs.sequence.tolist())}
    for portion in portions:
        if portion.key.policy == "p1":
            places = [by_sequence[portion.first + i] for i in range(len(portion.uncertainty))]
            np.testing.assert_array_equal(unit_runs.uncertainty[places], portion.uncertainty)
            np.testing.assert_array_equal(unit_runs.decisions[places], portion.decisions)
            np.testing.assert_allclose(unit_runs.propensities[places], portion.propensity, rtol=1e-6)
            assert set(unit_runs.times[places]) == {portion.time}


def test_frames_hold_the_items_of_deferred_and_audited_units() -> None:
    scores = np.array([0.5, np.inf, np.nan, 0.25], np.float32)
    decisions = np.array([Decision.ANSWER, Decision.DEFER, Decision.DEFER, Decision.ANSWER], np.uint8)
    key = Key("power", "m:1", "p1", "decide")
    raw = np.array([0.5, 3.0, np.nan, 0.25], np.float32)
    audited = Decided(key, 4, scores, decisions, np.array([0.1, 0.2, 0.3, 0.4], np.float32), 5.0)
    audited.itemised, audited.raw = np.array([1, 2, 3]), raw
    audited.evidence, audited.payload, audited.payload_type = [b"a", None, b"c"], [b"x", b"", b"z"], "application/x-toy"
    census = Decided(key, 8, scores[:1], decisions[:1], 0.01, 6.0, census=True)
    census.itemised, census.requested, census.evidence = np.array([0]), np.array([False]), [b"e"]
    plain = Decided(key, 9, scores[:2], np.full(2, Decision.ANSWER, np.uint8), 0.01, 7.0)
    runs, (first, second) = unframe([frame(part) for part in (audited, census, plain)])
    assert len(runs[key]) == 7
    assert set(runs[key].sequence.tolist()) == {4, 5, 6, 7, 8, 9, 10}
    for sent, received in ((audited, first), (census, second)):
        assert (received.key, received.first, received.time) == (sent.key, sent.first, sent.time)
        for name in ("uncertainty", "decisions", "itemised", "propensity"):
            np.testing.assert_array_equal(getattr(received, name), getattr(sent, name))
        assert (list(received.evidence), list(received.payload)) == (list(sent.evidence), list(sent.payload))
        assert (received.census, received.payload_type) == (sent.census, sent.payload_type)
    np.testing.assert_array_equal(first.raw[1:], raw[1:])
    assert first.requested is None
    np.testing.assert_array_equal(second.requested, [False])


def test_frames_of_earlier_versions_are_read() -> None:
    """Journals of killed processes outlive an update: frames without items have not changed."""
    key = b"power\0m:1\0p\0decide"
    content = struct.pack("<HQdIBd", len(key), 3, 1.5, 2, 2, 0.25) + key
    runs_by_key, itemised = unframe([content + np.array([1, 2], "<f4").tobytes() + bytes([1, 3])])
    runs = runs_by_key[Key("power", "m:1", "p", "decide")]
    assert (runs.decisions.tolist(), runs.propensity, itemised) == ([1, 3], 0.25, [])


def test_a_journal_in_use_is_cut_to_what_the_database_does_not_have(tmp_path: Path) -> None:
    journal = make(tmp_path)
    journal.append([b"early"] * 10)
    middle = journal.end
    journal.append([b"late", b"later"])
    size = journal.path.stat().st_size
    journal.cut(middle)
    assert journal.path.stat().st_size < size
    assert (journal.base, everything(journal)) == (middle, [b"late", b"later"])
    journal.append([b"last"])
    assert Journal.take_over(journal.path) is None, "the new file is locked, too"
    again = taken(journal)
    assert (again.base, everything(again, middle)) == (middle, [b"late", b"later", b"last"])
    assert sorted(path.name for path in tmp_path.iterdir()) == [journal.path.name]


def test_a_cut_that_fails_leaves_the_journal_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = make(tmp_path)
    journal.append([b"early"])
    middle = journal.end
    journal.append([b"late"])
    write = os.write
    monkeypatch.setattr(os, "write", lambda file, data: write(file, data[:-1]))
    with pytest.raises(OSError, match="disk is full"):
        journal.cut(middle)
    monkeypatch.undo()
    journal.append([b"last"])
    assert everything(taken(journal)) == [b"early", b"late", b"last"]
    assert sorted(path.name for path in tmp_path.iterdir()) == [journal.path.name]


def test_frames_of_a_write_that_was_cut_short_are_not_recovered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of a call's frames, or none: its caller was told that nothing was recorded."""
    journal = make(tmp_path)
    journal.append([b"before"])
    write = os.pwrite

    def short(file: int, content: bytes, place: int) -> int:
        return write(file, content[:-4], place)

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", short)
        with pytest.raises(OSError, match="cut short"):
            journal.append([b"one", b"two", b"three"])
    again = taken(journal)
    assert everything(again) == [b"before"]
    again.close()
