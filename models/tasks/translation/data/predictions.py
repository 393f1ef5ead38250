"""Reader of translations with confidences for ``demur evaluate``: lists of hypotheses against references."""

import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np

from models.assessment import text
from models.assessment.figures import Rules
from models.evaluation.files import need
from models.evaluation.unit_errors import BadFile, ErrorColumn, ErrorOptions, Mask, UnitErrors, ordered
from models.tasks.translation.data import anomalies, lists, references
from models.tasks.translation.data.lists import Lists
from models.tasks.translation.spec import GLEU_UNIT, HYPOTHESES

OPTIONS = frozenset({"references", "domains", "flags"})
"""Options of ``ErrorOptions`` that apply besides error, limit, groups and convention."""

OWN_UNITS = {"egleu": GLEU_UNIT, "maxgleu": GLEU_UNIT, "bleu": "BLEU points, 0 to 100"}


def read(path: Path, options: ErrorOptions) -> UnitErrors:
    """Read the official submission (JSON lines), output of fairseq, or a folder of it for both development sets.

    Companions: ``references``, which output of fairseq contains already; optionally ``domains``, and ``flags`` of
    anomalies as groups of figures. Texts are compared unchanged, with tokens separated by whitespace. BLEU is that of
    the first hypothesis of each list, as in the released evaluation, not of the most confident one.

    Raises:
        BadFile: the message names file, line and field.
    """
    need("sacrebleu", "BLEU")
    predicted = lists.read(path)
    truth = _references(predicted, options, path)
    gleus = text.n_best_gleu(truth, predicted.texts)
    expected, best = text.egleu(gleus, predicted.confidences), text.max_gleu(gleus)
    firsts = [texts[0] for texts in predicted.texts]
    columns = {
        "egleu_error": ErrorColumn(text.egleu_error(gleus, predicted.confidences), GLEU_UNIT, HYPOTHESES.acceptable)
    }

    def own(mask: Mask | None) -> dict[str, float]:
        rows = np.arange(len(truth)) if mask is None else np.flatnonzero(mask)
        return {
            "egleu": float(np.mean(expected[rows])),
            "maxgleu": float(np.mean(best[rows])),
            "bleu": text.bleu([truth[row] for row in rows], [firsts[row] for row in rows]),
        }

    judged = UnitErrors(
        task="translation",
        source=str(path),
        errors=ordered(options, columns, str(path)),
        measures=predicted.measures,
        rules=Rules(options.convention),
        own=own,
        own_units=OWN_UNITS,
        labels=hashlib.sha256(repr(list(zip(predicted.ids.tolist(), truth, strict=True))).encode()).hexdigest(),
    )
    return _with_flags(_with_domains(judged, predicted, options, path), predicted, options, path)


def _references(predicted: Lists, options: ErrorOptions, path: Path) -> list[str]:
    companion = options.companions.get("references")
    if companion is not None:
        return references.in_order(Path(companion), predicted.ids, path)
    if predicted.references is None:
        raise BadFile(f"{path} holds no references: give --references, JSON lines {{id, ref}} or one text a line")
    return list(predicted.references)


def _with_domains(judged: UnitErrors, predicted: Lists, options: ErrorOptions, path: Path) -> UnitErrors:
    """Add domains by the file of labels, else by the predictions' folder or the references."""
    companion, truth = options.companions.get("domains"), options.companions.get("references")
    if companion is not None:
        file = Path(companion)
        labels, count = references.domains(file, predicted.ids, path)
        surplus = count - len(labels)
        notes = (f"{surplus} labels of {file} are of ids that are not judged",) if surplus else ()
        return replace(judged, shifted=labels != 0, groups={"domain": labels}, notes=notes)
    if predicted.shifted is not None:
        return replace(judged, shifted=predicted.shifted, groups={"domain": predicted.shifted.astype(np.int64)})
    known = None if truth is None else references.own_domains(Path(truth), predicted.ids)
    return judged if known is None else replace(judged, shifted=known != 0, groups={"domain": known})


def _with_flags(judged: UnitErrors, predicted: Lists, options: ErrorOptions, path: Path) -> UnitErrors:
    companion = options.companions.get("flags")
    if companion is None:
        return judged
    flags = anomalies.read(Path(companion)).groups(predicted.ids, judged.shifted, path)
    return replace(judged, groups={**judged.groups, **flags})
