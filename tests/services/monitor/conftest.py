"""A ledger of each kind, writers in it, and monitors over it."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.services.monitor.simulated import BEGIN, Book
from tests.services.monitor.watching import Watch


class Scene:
    """One ledger; all connections end with the test."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._books: list[Book] = []
        self._watches: list[Watch] = []

    def book(self, epoch: int = 77, *, deploy: bool = True, now: float = BEGIN) -> Book:
        """A writer, whose model is known."""
        book = Book(self.url, epoch, now)
        self._books.append(book)
        if deploy:
            book.deploy(now)
        return book

    def watch(self, now: float, **options: Any) -> Watch:
        """A monitor that has read all that there is."""
        watch = Watch(self.url, now=now, **options)
        self._watches.append(watch)
        watch.at()
        return watch

    def close(self) -> None:
        for watch in self._watches:
            watch.monitor.close()
        for book in self._books:
            book.engine.dispose()


@pytest.fixture
def scene(ledger_url: str) -> Iterator[Scene]:
    """Of SQLite and of PostgreSQL in turn."""
    made = Scene(ledger_url)
    yield made
    made.close()


@pytest.fixture
def quick_scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """Of SQLite alone, where the database does not matter."""
    made = Scene(f"sqlite:///{tmp_path_factory.mktemp('ledger') / 'ledger.db'}")
    yield made
    made.close()
