"""Comparison of the live monitor with all references, on real sentences.

    DEMUR_CENSUS=hypotheses demur serve translation
    demur monitor run
    python -m studies.translation_live --pairs data/translation [--count 400] [--steps 4] [--json PATH]

Asks a running translation service about real sentences, gives each reference after the answer, and compares the
monitor's figures with the same figures of all references. The ledger should be new: the monitor's window ``last``
holds all requests to the model. The folder is one of ``demur data translation select``; its held-out and its shifted
pairs take turns. Each sentence is also sent over HTTP, as a replay, and must get the same answer.
"""

import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np

import demur
from models.assessment.text import egleu_error, n_best_gleu
from models.tasks.translation.data import pairs_folder
from models.tasks.translation.data.corpus import Corpus, Pair
from models.tasks.translation.spec import HYPOTHESES
from models.tasks.translation.text.documents import document
from studies.live import Seen, Sent, parser, post, report, seen, steps_of, windows

NEAR = 1e-4
"""Largest difference of answers over both protocols, nats."""
_TOGETHER = 32
"""Number of sentences per call."""


@dataclass(frozen=True)
class Moment(Seen):
    """State after some sentences."""

    domains: dict[str, int]
    deferred: int
    deferred_by_domain: dict[str, int]


def chosen(client: Any, folder: pairs_folder.Folder, count: int) -> list[Pair]:
    """Return at most ``count`` pairs that the service takes for one sentence each, evenly spaced, held-out and shifted
    ones in turn. A first call without a decision shows which pairs these are.
    """
    parts = [_spaced(corpus, count // 2) for corpus in (folder.valid, folder.shifted)]
    pairs = [one for some in zip_longest(*parts) for one in some if one is not None]
    kept = []
    for start in range(0, len(pairs), _TOGETHER):
        some = pairs[start : start + _TOGETHER]
        answers = client.translation.predict([pair.english for pair in some], purpose="explore", tokens="none")
        kept += [pair for pair, answer in zip(some, answers, strict=True) if len(answer.sentences) == 1]
    return kept


def follow(client: Any, http: str, monitor: str, pairs: Sequence[Pair], steps: int) -> Iterator[Moment]:
    """Ask and label, and yield the monitor's figures after each of some steps.

    Raises:
        TimeoutError: the monitor does not show the sent sentences.
        ValueError: the protocols answer differently.
    """
    sent = Sent(HYPOTHESES)
    domains: Counter[str] = Counter()
    left: Counter[str] = Counter()
    calls = [pairs[start : start + _TOGETHER] for start in range(0, len(pairs), _TOGETHER)]
    for some, stop in steps_of(calls, steps):
        model, deferred = _ask(client, http, some, sent)
        domains.update(pair.domain for pair in some)
        left.update(pair.domain for pair, flag in zip(some, deferred, strict=True) if flag)
        if stop:
            now = seen(lambda: windows(monitor), model, sent)
            yield Moment(**vars(now), domains=dict(domains), deferred=sum(left.values()), deferred_by_domain=dict(left))


def _spaced(pairs: Corpus, count: int) -> list[Pair]:
    single = [pair for pair in pairs.pairs if document(pair.english, lambda text: len(text) < 150).whole]
    rows = np.unique(np.linspace(0, len(single) - 1, min(count, len(single))).astype(int)) if single else ()
    return [single[row] for row in rows]


def _ask(client: Any, http: str, pairs: Sequence[Pair], sent: Sent) -> tuple[str, list[bool]]:
    texts = [pair.english for pair in pairs]
    answer = client.translation.predict(texts, purpose="decide", tokens="none")
    groups = [translation.sentences for translation in answer]
    if any(len(group) != 1 for group in groups):
        raise ValueError("a pair was cut into several sentences; its reference is of none of them")
    sentences = [group[0] for group in groups]
    body = {"texts": texts, "tokens": "none", "purpose": "replay"}
    _check_alike(sentences, post(f"{http}/v1/predict", body, 120)["sentences"])
    gleus = n_best_gleu(
        [pair.russian for pair in pairs], [[h.text for h in sentence.hypotheses] for sentence in sentences]
    )
    weights = np.array([[h.confidence for h in sentence.hypotheses] for sentence in sentences], np.float64)
    errors = egleu_error(gleus, weights / weights.sum(axis=1, keepdims=True))
    deferred = [sentence.deferred for sentence in sentences]
    sent.add(errors, [sentence.uncertainty for sentence in sentences], deferred)
    now = time.time()
    client.labels.submit(
        demur.Label(sentence.prediction_id, pair.russian, source="census", observed=now)
        for sentence, pair in zip(sentences, pairs, strict=True)
    ).check()
    return str(answer.model), deferred


def _check_alike(grpc: Sequence[Any], http: Sequence[Any]) -> None:
    for sentence, other in zip(grpc, http, strict=True):
        best = other["hypotheses"][0]["text"]
        if sentence.best.text != best or abs(sentence.uncertainty - other["uncertainty"]) > NEAR:
            raise ValueError(
                f"{sentence.source!r}: {sentence.best.text!r} with {sentence.uncertainty} over gRPC, {best!r} with "
                f"{other['uncertainty']} over HTTP"
            )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the study; return 1 if data, service or monitor are missing or unsuitable, else 0."""
    asking = parser("translation_live", __doc__, 3002)
    asking.add_argument("--pairs", type=Path, required=True, help="folder of `demur data translation select`")
    asking.add_argument("--count", type=int, default=400, help="sentences, half of them shifted")
    options = asking.parse_args(arguments)
    try:
        folder = pairs_folder.read(options.pairs)
        with demur.connect(options.target, actor="translators", timeout=120) as client:
            pairs = chosen(client, folder, options.count)
            report(follow(client, options.http, options.monitor, pairs, options.steps), _words, options.json)
    except (ValueError, OSError, demur.DemurError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


def _words(moment: Moment) -> str:
    return f"{moment.units} sentences {moment.domains}, deferred {moment.deferred_by_domain}"


if __name__ == "__main__":
    sys.exit(main())
