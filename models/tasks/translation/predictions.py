"""Files of translations with confidences, for ``demur evaluate``: the official n-best file against references."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np

from models.assessment import text
from models.assessment.figures import Rules
from models.evaluation.files import need
from models.evaluation.judged import Asked, BadFile, ErrorColumn, Judged, Mask, ordered
from models.tasks.translation import nbest, references
from models.tasks.translation.spec import GLEU_UNIT, HYPOTHESES

OPTIONS = frozenset({"references", "domains"})
"""What of ``Asked`` is of use here besides error, limit, groups and convention."""

OWN_UNITS = {"egleu": GLEU_UNIT, "maxgleu": GLEU_UNIT, "bleu": "BLEU points, 0 to 100"}


def read(path: Path, asked: Asked) -> Judged:
    """JSON lines as ``nbest`` reads them; companions ``references`` and, optional, ``domains``.

    Texts are compared as they come, tokens being what whitespace separates. BLEU is that of the first hypothesis of
    each list, as in the released evaluation, not of the most confident one.

    Raises:
        BadFile: the message names file, line and field.
    """
    need("sacrebleu", "BLEU")
    if asked.companions.get("references") is None:
        raise BadFile(f"{path} holds no references: give --references, JSON lines {{id, ref}} or one text a line")
    lists = nbest.read(path)
    truth = references.in_order(Path(asked.companions["references"]), lists.ids, path)
    gleus = text.n_best_gleu(truth, lists.texts)
    expected, best = text.egleu(gleus, lists.confidences), text.max_gleu(gleus)
    firsts = [texts[0] for texts in lists.texts]
    columns = {"egleu_error": ErrorColumn(text.egleu_error(gleus, lists.confidences), GLEU_UNIT, HYPOTHESES.acceptable)}

    def own(mask: Mask | None) -> dict[str, float]:
        rows = np.arange(len(truth)) if mask is None else np.flatnonzero(mask)
        return {
            "egleu": float(np.mean(expected[rows])),
            "maxgleu": float(np.mean(best[rows])),
            "bleu": text.bleu([truth[row] for row in rows], [firsts[row] for row in rows]),
        }

    judged = Judged(
        task="translation",
        source=str(path),
        errors=ordered(asked, columns, str(path)),
        measures={"uncertainty": lists.uncertainty},
        rules=Rules(asked.convention),
        own=own,
        own_units=OWN_UNITS,
        labels=_digest(lists.ids.tolist(), truth),
    )
    return _with_domains(judged, lists, asked, path)


def _with_domains(judged: Judged, lists: nbest.NBest, asked: Asked, path: Path) -> Judged:
    if asked.companions.get("domains") is None:
        return judged
    file = Path(asked.companions["domains"])
    labels, count = references.domains(file, lists.ids, path)
    surplus = count - len(labels)
    notes = (f"{surplus} labels of {file} are of ids that are not judged",) if surplus else ()
    return replace(judged, shifted=labels != 0, groups={"domain": labels}, notes=notes)


def _digest(ids: list[int], truth: list[str]) -> str:
    return hashlib.sha256(repr(list(zip(ids, truth, strict=True))).encode()).hexdigest()
