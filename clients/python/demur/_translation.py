"""The translation task: English to Russian."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, Generator, Iterable

from demur._calls import AsyncCalls, Calls
from demur._exchange import ChunkError, Exchange
from demur._question import Purpose
from demur._retry import Deadline
from demur._service import AsyncService, Service, each, each_read
from demur._translation_answer import Translations
from demur._translation_chunks import TranslationChunks
from demur._translation_document import AsyncDocument, Document
from demur._translation_exchange import DocumentExchange
from demur._translation_question import Detail, Texts, opened, read
from demur._translation_reading import translations
from demur.v1.translation_pb2_grpc import TranslationServiceStub


class Translator(Service):
    """Translates English into Russian, blocking; for any number of threads."""

    def __init__(self, calls: Calls) -> None:
        super().__init__(calls, TranslationServiceStub)

    def predict(
        self,
        texts: Texts,
        *,
        purpose: Purpose = "decide",
        defer_above: float | None = None,
        tokens: Detail = "best",
        timeout: float | None = None,
    ) -> Translations:
        """Translate texts of up to 10^5 characters together, in one call.

        They are cut into sentences, each of which is decided by itself, and joined again: line breaks, bullets and
        emoji stay where they are. Places are counted in characters, as Python does.

        Args:
            texts: one text, or up to 256.
            purpose: ``decide`` for a real question, ``explore`` for a hypothetical one, ``replay`` for a past one
                again. Only real ones are audited.
            defer_above: defer sentences above this uncertainty even where the policy would answer, in the unit of the
                measure (``describe().heads``).
            tokens: tell what the model knew of each token of the ``best`` hypothesis of each sentence, of ``all``, or
                of ``none``.
            timeout: seconds for everything this call does, retries included; None for the client's own. Long texts
                take longer than that where there is no accelerator: use :meth:`document`.

        Returns:
            One translation a text, in their order; in each what could not be translated while the rest could.

        Raises:
            InvalidInput: not text, or text that no message can carry; said before sending, or by the service.
            TooLarge: more texts, sentences or characters than the service takes in one call.
            DemurError: any other of the tree in :mod:`demur`.
        """
        deadline = self._calls.deadline(timeout)
        chunks = TranslationChunks(purpose, defer_above, tokens)
        asked = read(texts)
        return translations(self._calls.unary(self._stub.Predict, chunks.unary(asked), deadline), asked)

    def predict_many(
        self,
        questions: Iterable[Texts],
        *,
        purpose: Purpose = "decide",
        defer_above: float | None = None,
        tokens: Detail = "best",
        timeout: float | None = None,
        window: int | None = None,
    ) -> Generator[Translations | ChunkError, None, None]:
        """Translate question after question over one stream: one outcome for each, in order, for any number of them.

        Questions are drawn in the caller's thread, ahead of the answers by no more than the window; at most so many are
        held in memory. Closing the generator, or leaving its loop, cancels what is not finished.

        Args:
            questions: what ``predict`` takes, one at a time.
            purpose: as for ``predict``.
            defer_above: as for ``predict``.
            tokens: as for ``predict``.
            timeout: seconds for all of them; None for no limit.
            window: questions on their way at once; None for as many as the service reads ahead.

        Returns:
            For each question its translations, or a :class:`demur.ChunkError` in their place: one that fails does not
            end the stream. A failure of the stream itself is raised.

        Raises:
            DemurError: as ``predict``, while answers are read; wrong options at once.
        """
        exchange = Exchange(TranslationChunks(purpose, defer_above, tokens), window=window, on_error="yield")
        return self._converse(exchange, map(opened, questions), Deadline(timeout))

    def document(
        self,
        text: str,
        *,
        purpose: Purpose = "decide",
        defer_above: float | None = None,
        tokens: Detail = "best",
        timeout: float | None = None,
        window: int | None = None,
    ) -> Document:
        """Translate a text of any length over one stream: its sentences as they are done, then the whole.

        >>> document = client.translation.document(text)  # doctest: +SKIP
        >>> for sentence in document:  # doctest: +SKIP
        ...     print(sentence.source, sentence.best)
        >>> document.result().text  # doctest: +SKIP

        The text is cut at line breaks into pieces of up to 16,000 characters (where there are none after the end of a
        sentence, else at a space). Sentences of a piece come in whatever order they are done, pieces one after the
        other; ``item`` and ``source_span`` are places in the document. Until the result their ``span`` may be None.

        Args:
            text: the document.
            purpose: as for ``predict``.
            defer_above: as for ``predict``.
            tokens: as for ``predict``.
            timeout: seconds for all of it; None for no limit.
            window: pieces on their way at once; None for as many as the service reads ahead.

        Returns:
            An iterator over its sentences, whose ``result()`` is the :class:`demur.Translation` of all. A sentence or
            piece that cannot be translated stands there as it came, and is one of its ``failures``.

        Raises:
            DemurError: as ``predict``, while sentences are read; wrong options at once.
        """
        exchange = DocumentExchange(text, purpose, defer_above, tokens, window)
        return Document(exchange, self._converse(exchange, exchange.pieces(), Deadline(timeout)))


class AsyncTranslator(AsyncService):
    """As :class:`Translator`, on the running event loop; for any number of its tasks."""

    def __init__(self, calls: AsyncCalls) -> None:
        super().__init__(calls, TranslationServiceStub)

    async def predict(
        self,
        texts: Texts,
        *,
        purpose: Purpose = "decide",
        defer_above: float | None = None,
        tokens: Detail = "best",
        timeout: float | None = None,
    ) -> Translations:
        """As :meth:`Translator.predict`."""
        deadline = self._calls.deadline(timeout)
        chunks = TranslationChunks(purpose, defer_above, tokens)
        asked = read(texts)
        return translations(await self._calls.unary(self._stub.Predict, chunks.unary(asked), deadline), asked)

    def predict_many(
        self,
        questions: Iterable[Texts] | AsyncIterable[Texts],
        *,
        purpose: Purpose = "decide",
        defer_above: float | None = None,
        tokens: Detail = "best",
        timeout: float | None = None,
        window: int | None = None,
    ) -> AsyncGenerator[Translations | ChunkError, None]:
        """As :meth:`Translator.predict_many`; questions may come from an asynchronous iterable.

        Leaving the loop early cancels when the generator is closed: at once inside ``contextlib.aclosing(...)``, else
        when the event loop collects it.
        """
        exchange = Exchange(TranslationChunks(purpose, defer_above, tokens), window=window, on_error="yield")
        return self._converse(exchange, each_read(questions, opened), Deadline(timeout))

    def document(
        self,
        text: str,
        *,
        purpose: Purpose = "decide",
        defer_above: float | None = None,
        tokens: Detail = "best",
        timeout: float | None = None,
        window: int | None = None,
    ) -> AsyncDocument:
        """As :meth:`Translator.document`, for ``async for``."""
        exchange = DocumentExchange(text, purpose, defer_above, tokens, window)
        return AsyncDocument(exchange, self._converse(exchange, each(exchange.pieces()), Deadline(timeout)))
