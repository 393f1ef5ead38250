"""Calibration of an ensemble on pairs of sentences, its figures, and the check of lower precisions."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models import building, uncertainty
from models.assessment import retention, text
from models.calibration import Calibration
from models.evaluation.files import need
from models.predictive import Sequences
from models.tasks.translation.data.corpus import Corpus
from models.tasks.translation.inference.translator import Translation, Translator, predictive
from models.tasks.translation.spec import HYPOTHESES
from models.tasks.translation.text.documents import document
from models.uncertainty.sequences import SCORES

ADMITTED = 0.98
"""Least rank correlation, over sentences, of the head's measure in a lower precision with that in float32."""


@dataclass(frozen=True)
class TranslatedPairs:
    """N translated sentences with their references; pairs of several sentences, or not in English, are left out."""

    sources: tuple[str, ...]
    references: tuple[str, ...]
    translations: tuple[Translation, ...]

    def __len__(self) -> int:
        return len(self.translations)

    @property
    def predictive(self) -> Sequences:
        """Statistics of the translations."""
        return predictive(self.translations)

    @property
    def gleus(self) -> NDArray[np.float64]:
        """GLEU of each hypothesis, %, [N, H]; tokens are separated by whitespace."""
        return text.n_best_gleu(self.references, [translation.texts for translation in self.translations])

    @property
    def errors(self) -> NDArray[np.float64]:
        """100 - expected GLEU of each sentence, %, [N]."""
        scores = np.stack([translation.score for translation in self.translations]).astype(np.float64)
        return text.egleu_error(self.gleus, text.n_best_weights(-scores))


def judge(
    pairs: Corpus, translator: Translator, progress: Callable[[int], None] = lambda done: None
) -> TranslatedPairs:
    """Translate sentences as in serving.

    Args:
        progress: called with the number of further sentences that are done.
    """
    kept = [pair for pair in pairs.pairs if document(pair.english, translator.fits).whole]
    progress(len(pairs) - len(kept))
    translations = dict(translator.translations([pair.english for pair in kept], progress))
    rows = [row for row in range(len(kept)) if translations[row].tokens]
    return TranslatedPairs(
        tuple(kept[row].english for row in rows),
        tuple(kept[row].russian for row in rows),
        tuple(translations[row] for row in rows),
    )


def calibration(judged: TranslatedPairs) -> Calibration:
    """Return the head's calibration: retention and expected error by all measures, in-domain references."""
    statistics = judged.predictive
    several = statistics.hypothesis_scores is not None
    own = HYPOTHESES.own_measure(several)
    others = tuple(name for name in (*SCORES, "nll") if name != own) if several else ()
    return building.calibrate_errors(
        HYPOTHESES, statistics, judged.errors, ensemble=several, reference=(own, *others), others=others
    )


def quality(judged: TranslatedPairs) -> dict[str, float]:
    """Return BLEU and chrF of the best hypothesis, expected and best GLEU, and area under the retention curve."""
    need("sacrebleu", "BLEU and chrF")
    from sacrebleu.metrics import BLEU, CHRF

    first = [translation.texts[0] for translation in judged.translations]
    references = [list(judged.references)]
    errors = judged.errors
    own = HYPOTHESES.own_measure(judged.translations[0].values is not None)
    curve = retention.error_curve(errors, uncertainty.score(judged.predictive, own))
    figures = {
        "sentences": float(len(judged)),
        "bleu": BLEU().corpus_score(first, references).score,
        "chrf": CHRF().corpus_score(first, references).score,
        "egleu_percent": float(100 - errors.mean()),
        "maxgleu_percent": float(text.max_gleu(judged.gleus).mean()),
        "r_auc_egleu_error_percent": float(retention.r_auc(curve)),
    }
    return {name: building.significant(value, 4) for name, value in figures.items()}


def agreement(translations: Sequence[Translation], exact: Sequence[Translation]) -> dict[str, float]:
    """Return Spearman's rank correlation of each measure over the same sentences, by the measure's name."""
    from scipy.stats import spearmanr

    several = exact[0].values is not None
    names = (*SCORES, "nll") if several else ("nll",)
    ours, theirs = predictive(translations), predictive(exact)
    return {
        name: float(spearmanr(uncertainty.score(ours, name), uncertainty.score(theirs, name)).statistic)
        for name in names
    }


def refused(correlations: Mapping[str, float], several: bool) -> str:
    """Return the reason to refuse a lower precision, or an empty text."""
    own = HYPOTHESES.own_measure(several)
    if correlations[own] >= ADMITTED:
        return ""
    return (
        f"the ranking by {own} correlates with that in float32 by {correlations[own]:.4f} only; {ADMITTED} is needed: "
        "use another precision"
    )
