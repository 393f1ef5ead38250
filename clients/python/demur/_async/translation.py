"""Client of the translation service: English to Russian."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from types import TracebackType

from demur._async.calls import AsyncCalls
from demur._async.service import AsyncService
from demur._event_loop import Items, each, each_read
from demur._exchange import ChunkError, Exchange
from demur._options import Purpose
from demur._retry import Deadline
from demur._translation.answer import Translation, Translations
from demur._translation.decoding import translations
from demur._translation.document import DocumentExchange
from demur._translation.request import Detail, Texts, TranslationChunks, read, read_or_error
from demur._translation.sentence import TranslatedSentence
from demur.v1.translation_pb2_grpc import TranslationServiceStub


class AsyncDocument(AsyncIterator[TranslatedSentence]):
    """Translation of a document in progress: iterates over its sentences as they are done, then gives ``result()``.

    To be used by one thread or task. The service is called when the first sentence is drawn. Closing the document
    cancels what is not finished; so does dropping it (an asynchronous one when the event loop collects it).
    """

    def __init__(self, exchange: DocumentExchange, sentences: AsyncGenerator[TranslatedSentence, None]) -> None:
        self._exchange, self._sentences = exchange, sentences

    async def __anext__(self) -> TranslatedSentence:
        return await anext(self._sentences)

    async def result(self) -> Translation:
        """Return the whole translation; waits for sentences that were not drawn.

        Raises:
            DemurError: the stream failed.
            RuntimeError: the document was closed before its end, or had failed before.
        """
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


class AsyncTranslator(AsyncService):
    """Asynchronous client of the translation service, for any number of tasks of its event loop."""

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
        """Translate texts of up to 10^5 characters together, in one call.

        They are cut into sentences, each of which is decided separately, and joined again: line breaks, bullets and
        emoji stay where they are. Positions are counted in characters, as Python does.

        Args:
            texts: one text, or up to 256.
            purpose: ``decide`` for a request that is acted on, ``explore`` for a hypothetical one, ``replay`` to repeat
                a past one. Only ``decide`` is audited.
            defer_above: defer sentences above this uncertainty even where the policy would answer, in the unit of the
                measure (``describe().heads``).
            tokens: return the scores of each token of the ``best`` hypothesis of each sentence, of ``all``, or of
                ``none``.
            timeout: seconds for everything this call does, retries included; None for the client's own. Long texts
                take longer than that where there is no accelerator: use :meth:`document`.

        Returns:
            One translation a text, in their order; each with the sentences that failed while others succeeded.

        Raises:
            InvalidInput: not text, or text that no message can carry; detected before sending, or by the service.
            TooLarge: more texts, sentences or characters than the service accepts in one call.
            DemurError: any other of the tree in :mod:`demur`.
        """
        deadline = self._calls.deadline(timeout)
        chunks = TranslationChunks(purpose, defer_above, tokens)
        request = read(texts)
        return translations(await self._calls.unary(self._stub.Predict, chunks.unary(request), deadline), request)

    def predict_many(
        self,
        questions: Items[Texts],
        *,
        purpose: Purpose = "decide",
        defer_above: float | None = None,
        tokens: Detail = "best",
        timeout: float | None = None,
        window: int | None = None,
    ) -> AsyncGenerator[Translations | ChunkError, None]:
        """Translate request after request over one stream: one outcome for each, in order, for any number of them.

        Requests are drawn ahead of the answers by no more than the window, which bounds memory. Closing the generator
        cancels what is not finished; leaving the loop of an asynchronous one closes it at once only inside
        ``contextlib.aclosing(...)``.

        Args:
            questions: inputs as for ``predict``.
            purpose: as for ``predict``.
            defer_above: as for ``predict``.
            tokens: as for ``predict``.
            timeout: seconds for all of them; None for no limit.
            window: requests in flight at once; None for as many as the service reads ahead.

        Returns:
            For each request its translations, or a :class:`demur.ChunkError` in their place: one that fails does not
            end the stream. A failure of the stream itself is raised.

        Raises:
            DemurError: as ``predict``, while answers are read; invalid options at once.
        """
        exchange = Exchange(TranslationChunks(purpose, defer_above, tokens), window=window, on_error="yield")
        return self._converse(exchange, each_read(questions, read_or_error), Deadline(timeout))

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
        """Translate a text of any length over one stream: its sentences as they are done, then the whole.

        >>> document = client.translation.document(text)  # doctest: +SKIP
        >>> async for sentence in document:  # doctest: +SKIP
        ...     print(sentence.source, sentence.best)
        >>> translation = await document.result()  # doctest: +SKIP

        The text is cut at line breaks into pieces of up to 16,000 characters (where there are none after the end of a
        sentence, else at a space). Sentences of a piece come in whatever order they are done, pieces one after the
        other; ``item`` and ``source_span`` are positions in the document. Until the result their ``span`` may be None.

        Args:
            text: the document.
            purpose: as for ``predict``.
            defer_above: as for ``predict``.
            tokens: as for ``predict``.
            timeout: seconds for all of it; None for no limit.
            window: pieces in flight at once; None for as many as the service reads ahead.

        Returns:
            An iterator over its sentences, whose ``result()`` is the :class:`demur.Translation` of all. A sentence or
            piece that cannot be translated is left untranslated, and is one of its ``failures``.

        Raises:
            DemurError: as ``predict``, while sentences are read; invalid options at once.
        """
        exchange = DocumentExchange(text, purpose, defer_above, tokens, window)
        return AsyncDocument(exchange, self._converse(exchange, each(exchange.pieces()), Deadline(timeout)))
