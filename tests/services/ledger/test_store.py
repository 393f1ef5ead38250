"""The store: contents by their hash, once each, and nothing that no row names."""

from pathlib import Path

import pytest

from services.ledger.store import ORPHAN_SECONDS, Store


class Wall:
    now = 0.0

    def __call__(self) -> float:
        import time

        return time.time() + self.now


def files(directory: Path) -> list[Path]:
    return [path for path in directory.rglob("*") if path.is_file()]


def test_content_comes_back_and_is_kept_once(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    first, second, other = store.put(b"x" * 1000), store.put(b"x" * 1000), store.put(b"y")
    assert first == second != other
    assert len(first) == len("sha256:") + 64
    assert (store.get(first), store.get(other)) == (b"x" * 1000, b"y")
    assert len(files(tmp_path)) == 2


def test_what_is_missing_or_altered_is_told(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    reference = store.put(b"content")
    (file,) = files(tmp_path)
    file.write_bytes(b"another")
    with pytest.raises(ValueError, match="was altered"):
        store.get(reference)
    file.unlink()
    with pytest.raises(LookupError, match="may have been erased"):
        store.get(reference)


def test_orphans_are_swept_once_they_are_old(tmp_path: Path) -> None:
    wall = Wall()
    store = Store(str(tmp_path), wall)
    kept, orphan = store.put(b"kept"), store.put(b"orphan")
    assert store.sweep(lambda references: {kept}) == 0, "its row may come yet"
    wall.now = ORPHAN_SECONDS + 10
    assert store.sweep(lambda references: set(references) & {kept}) == 1
    assert store.get(kept) == b"kept"
    with pytest.raises(LookupError):
        store.get(orphan)


def test_what_is_put_again_is_young_again(tmp_path: Path) -> None:
    import os

    store = Store(str(tmp_path))
    store.put(b"content")
    (file,) = files(tmp_path)
    os.utime(file, (1.0, 1.0))
    reference = store.put(b"content")
    assert store.sweep(lambda references: set()) == 0
    assert store.get(reference) == b"content"


def test_other_file_systems_serve_too() -> None:
    store = Store("memory://ledger-test")
    reference = store.put(b"content")
    assert store.get(reference) == b"content"


def test_an_empty_store_is_swept_in_peace(tmp_path: Path) -> None:
    assert Store(str(tmp_path / "none")).sweep(lambda references: set()) == 0
