"""Documents whose translation is under way: sentences as they are done, then the whole."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator
from types import TracebackType

from demur._translation_answer import Translation
from demur._translation_exchange import DocumentExchange
from demur._translation_sentence import TranslatedSentence


class Document(Iterator[TranslatedSentence]):
    """A document on its way, for one thread: its sentences as they are done, then ``result()``.

    It is asked about when the first sentence is wanted. Closing it, or dropping it, cancels what is not finished.
    """

    def __init__(self, exchange: DocumentExchange, sentences: Generator[TranslatedSentence, None, None]) -> None:
        self._exchange, self._sentences = exchange, sentences

    def __next__(self) -> TranslatedSentence:
        return next(self._sentences)

    def result(self) -> Translation:
        """The whole translation; waits for sentences that were not drawn.

        Raises:
            DemurError: the stream failed.
            RuntimeError: it was closed before its end, or had failed before.
        """
        for _ in self._sentences:
            pass
        return self._exchange.result()

    def close(self) -> None:
        """Cancel what is not finished."""
        self._sentences.close()

    def __enter__(self) -> Document:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncDocument(AsyncIterator[TranslatedSentence]):
    """As :class:`Document`, on the running event loop, for one of its tasks.

    Leaving the loop early cancels when the document is closed: at once after ``async with``, else when the event loop
    collects it.
    """

    def __init__(self, exchange: DocumentExchange, sentences: AsyncGenerator[TranslatedSentence, None]) -> None:
        self._exchange, self._sentences = exchange, sentences

    async def __anext__(self) -> TranslatedSentence:
        return await anext(self._sentences)

    async def result(self) -> Translation:
        """As :meth:`Document.result`."""
        async for _ in self._sentences:
            pass
        return self._exchange.result()

    async def aclose(self) -> None:
        """Cancel what is not finished."""
        await self._sentences.aclose()

    async def __aenter__(self) -> AsyncDocument:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
