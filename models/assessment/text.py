"""Agreement of texts with a reference (Shifts 1.0, appendix D.2), over n-best lists of H hypotheses per sentence.

Texts must be Moses-tokenised; they are split at whitespace. All scores are in percent.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]
Float64 = NDArray[np.float64]
Gram = str | tuple[str, ...]

_SUM_TOLERANCE = 1e-5  # tolerance of the sum of a list's confidences, as in the released evaluation


def gleu(reference: str, hypothesis: str) -> float:
    """Return sentence GLEU, %: n-grams in common, divided by the larger number of n-grams of the two, n = 1..4.

    An n-gram counts as often as it occurs in both texts. Zero if either text is empty.
    """
    tokens = reference.split()
    return _gleu(Counter(_grams(tokens)), len(tokens), hypothesis.split())


def n_best_gleu(references: Sequence[str], hypotheses: Sequence[Sequence[str]]) -> Float64:
    """Return GLEU of every hypothesis, %, float64 [N, H].

    Args:
        references: one text per sentence [N].
        hypotheses: one n-best list per sentence, N lists of H texts.

    Raises:
        ValueError: no sentences, different lengths, or lists of different lengths.
    """
    _check_lists(references, hypotheses)
    table = np.empty((len(references), len(hypotheses[0])))
    for row, (reference, texts) in enumerate(zip(references, hypotheses, strict=True)):
        tokens = reference.split()
        grams = Counter(_grams(tokens))
        table[row] = [_gleu(grams, len(tokens), text.split()) for text in texts]
    return table


def n_best_weights(nll: Floats) -> Float64:
    """Return confidences of hypotheses, exp(-nll) normalised over each list, float64 [N, H] (Shifts 1.0, section 4).

    Args:
        nll: negative log-likelihood of each hypothesis [N, H], nats; divided by length in the released baselines.

    Raises:
        ValueError: another shape, or a value that is not finite.
    """
    if nll.ndim != 2 or not nll.size:
        raise ValueError(f"nll needs the shape [N, H] with N and H at least 1, got {nll.shape}")
    if not np.isfinite(nll).all():
        row = int(np.argmin(np.isfinite(nll).all(axis=1)))
        raise ValueError(f"nll[{row}] is {nll[row].tolist()}: a negative log-likelihood is a finite number of nats")
    exact = np.asarray(nll, np.float64)
    weights = np.exp(exact.min(axis=1, keepdims=True) - exact)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def egleu(gleus: Floats, weights: Floats) -> Float64:
    """Return expected GLEU of each sentence, %, float64 [N]; its mean is the corpus figure (Shifts 1.0, D.2, equation
    4).

    Args:
        gleus: GLEU of each hypothesis, % [N, H].
        weights: confidence of each hypothesis [N, H]; each row is not negative and sums to one.

    Raises:
        ValueError: other shapes or weights (the message names the row).
    """
    return np.asarray((_percent(gleus) * _confidences(weights, gleus.shape)).sum(axis=1))


def egleu_error(gleus: Floats, weights: Floats) -> Float64:
    """Return 100 - expected GLEU of each sentence, %, float64 [N]: the error of retention curves. Errors as
    ``egleu``."""
    return 100.0 - egleu(gleus, weights)


def max_gleu(gleus: Floats) -> Float64:
    """Return GLEU of each sentence's best hypothesis, %, float64 [N]; its mean is the corpus figure (D.2, equation
    5)."""
    return np.asarray(_percent(gleus).max(axis=1))


def bleu(references: Sequence[str], hypotheses: Sequence[str]) -> float:
    """Return corpus BLEU of one hypothesis per sentence, %, by sacrebleu with its defaults.

    The defaults (tokenizer 13a, exponential smoothing) are those of the released evaluation, although its texts are
    tokenised already; sacrebleu's warning about that is silenced.

    Raises:
        ValueError: no sentences or different lengths.
    """
    if not len(references) or len(references) != len(hypotheses):
        raise ValueError(f"need one hypothesis a reference, got {len(references)} and {len(hypotheses)} texts")
    from sacrebleu import corpus_bleu

    return float(corpus_bleu(list(hypotheses), [list(references)], force=True).score)


def _grams(tokens: list[str]) -> Iterator[Gram]:
    """Yield the n-grams of a text, n = 1..4; a single token is not wrapped in a tuple."""
    second, third, fourth = tokens[1:], tokens[2:], tokens[3:]
    return chain(
        tokens,
        zip(tokens, second, strict=False),
        zip(tokens, second, third, strict=False),
        zip(tokens, second, third, fourth, strict=False),
    )


def _gleu(reference: Counter[Gram], length: int, tokens: list[str]) -> float:
    """Return GLEU of tokens against the n-grams of a reference of ``length`` tokens."""
    left = dict(reference)
    common = 0
    for gram in _grams(tokens):
        if count := left.get(gram):  # each occurrence is used up once
            left[gram] = count - 1
            common += 1
    longer = max(length, len(tokens))
    most = sum(max(longer - shorter, 0) for shorter in range(4))
    return 100.0 * (common / most) if most else 0.0


def _percent(gleus: Floats) -> Float64:
    if gleus.ndim != 2 or not gleus.size:
        raise ValueError(f"gleus need the shape [N, H] with N and H at least 1, got {gleus.shape}")
    return np.asarray(gleus, np.float64)


def _confidences(weights: Floats, shape: tuple[int, ...]) -> Float64:
    if weights.shape != shape:
        raise ValueError(f"weights need one confidence a hypothesis, shape {shape}, got {weights.shape}")
    exact = np.asarray(weights, np.float64)
    sums = exact.sum(axis=1)
    wrong = ~((exact >= 0).all(axis=1) & (np.abs(sums - 1) < _SUM_TOLERANCE))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"weights[{row}] sum to {sums[row]:.8g} with least value {exact[row].min():.6g}: confidences of a list are "
            f"not negative and sum to 1 within {_SUM_TOLERANCE:g}; n_best_weights makes them of log-likelihoods"
        )
    return exact


def _check_lists(references: Sequence[object], hypotheses: Sequence[Sequence[str]]) -> None:
    if not len(references) or len(references) != len(hypotheses):
        raise ValueError(f"need one n-best list a reference, got {len(references)} and {len(hypotheses)}")
    length = len(hypotheses[0])
    for row, texts in enumerate(hypotheses):
        if isinstance(texts, str) or not texts or len(texts) != length:
            raise ValueError(f"hypotheses[{row}] is no list of {max(length, 1)} texts, as many as the first sentence's")
