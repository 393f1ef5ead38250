"""Checked and split texts: the sentences that are units, with remarks on unusual ones."""

from bisect import bisect_right
from dataclasses import dataclass

from models.tasks.translation.inference.translator import SourceSentence as Sentence
from models.tasks.translation.inference.translator import Translator
from models.tasks.translation.text.documents import Document, document
from services.runtime.errors import InvalidInput, TooLarge
from services.tasks.translation.request import Detail, TranslationRequest

MOST_TEXTS = 256
MOST_SENTENCES = 1024
MOST_CHARACTERS = 100_000
"""Maximum number of characters of a call, all texts together; longer documents are streamed in such pieces."""
_IN_PIECES = "send a document in pieces over a stream (the client's `document` does)"


@dataclass(frozen=True, slots=True)
class CallData:
    """Parsed call, alive until it is answered."""

    documents: tuple[Document, ...]
    sentences: tuple[Sentence, ...]
    """Sentences of all documents in order: the units."""
    firsts: tuple[int, ...]
    """Index of each document's first sentence."""
    tokens: Detail

    def text_of(self, item: int) -> int:
        """Return the index of a sentence's document."""
        return bisect_right(self.firsts, item) - 1


def read(request: TranslationRequest, translator: Translator) -> CallData:
    """Check a call and split it into sentences.

    Raises:
        InvalidInput: no text, or a text that is not Unicode.
        TooLarge: more texts, characters or sentences than one call may have.
    """
    texts = request.texts
    if not texts:
        raise InvalidInput("texts is empty; give at least one text", code="missing", field="texts", allowed="1 or more")
    if len(texts) > MOST_TEXTS:
        raise TooLarge.about(
            "texts",
            len(texts),
            code="too_many",
            unit="texts",
            allowed=f"[1, {MOST_TEXTS}]",
            advice="send more calls, or a stream",
        )
    for index, text in enumerate(texts):
        _check_unicode(text, index)
    characters = sum(map(len, texts))
    if characters > MOST_CHARACTERS:
        raise TooLarge.about(
            "texts",
            characters,
            code="too_long",
            unit="characters",
            allowed=f"[0, {MOST_CHARACTERS}]",
            advice=_IN_PIECES,
        )
    documents = tuple(document(text, translator.fits) for text in texts)
    firsts: list[int] = []
    sentences: list[str] = []
    for document_read in documents:
        firsts.append(len(sentences))
        sentences += document_read.sentences
    if len(sentences) > MOST_SENTENCES:
        raise TooLarge.about(
            "texts",
            len(sentences),
            code="too_many",
            unit="sentences",
            allowed=f"[0, {MOST_SENTENCES}]",
            advice=_IN_PIECES,
        )
    return CallData(documents, tuple(map(translator.sentence, sentences)), tuple(firsts), request.tokens)


def _check_unicode(text: str, index: int) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(
            f"texts[{index}] is no Unicode text at character {error.start}: half of a surrogate pair; send UTF-8",
            code="not_unicode",
            field="texts",
            value=str(error.start),
            unit="character",
            index=index,
        ) from error
