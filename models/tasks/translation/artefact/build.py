"""Build of a translation artefact: graphs, tokeniser, calibration, golden sentences, model card.

Calibration uses the code that serves: the graphs in ONNX Runtime, in their precision. A precision below float32 is
accepted only if it ranks sentences as float32 does.
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np

from models import building, card, npz
from models.artefact import Artefact, ArtefactError, write
from models.building import CARD, GOLDEN, UNSTATED, Provenance
from models.calibration import Calibration
from models.executors.device import CPU, Device, described
from models.manifest import Manifest
from models.profile import profile
from models.tasks.translation import spec
from models.tasks.translation.artefact import calibration as calibrating
from models.tasks.translation.artefact import recipe, replay_set
from models.tasks.translation.artefact.ensemble import Ensemble, executor, opened
from models.tasks.translation.artefact.recipe import RECIPE
from models.tasks.translation.data.corpus import Corpus
from models.tasks.translation.inference import appearance, members
from models.tasks.translation.inference.translator import Translator
from models.tasks.translation.networks.settings import Precision
from models.training.progress import Counter, ignore
from models.workbench import Progress

LOOKED = 4000
"""Training sentences, evenly spaced, that define the typical appearance."""
COMPARED = 400
"""Calibration sentences, evenly spaced, that are also translated in float32."""
CALIBRATION = "calibration"


def build(
    ensemble: Ensemble,
    directory: Path,
    *,
    precision: Precision = "int8",
    train: Corpus | None = None,
    calibration: Corpus | None = None,
    judge: Mapping[str, Corpus] | None = None,
    provenance: Provenance = UNSTATED,
    device: Device = CPU,
    progress: Progress = ignore,
) -> Artefact:
    """Write the artefact into ``directory`` (replacing an older one there) and verify it.

    Without calibration pairs nothing is calibrated: every sentence is deferred until a threshold is set, and a lower
    precision is not compared with float32. The replay set consists of sentences of ``calibration`` and of ``judge``.

    Args:
        train: pairs that the members were trained on; they define the typical appearance.
        calibration: in-domain pairs that the members have not seen.
        judge: further pairs by name, for figures in the manifest.
        device: runs the calibration, under its numeric profile.

    Raises:
        ArtefactError: the tokeniser does not fit the weights, or the precision ranks sentences differently from
            float32.
    """
    sets = {name: corpus for name, corpus in {CALIBRATION: calibration, **(judge or {})}.items() if corpus}
    steps = Counter(sum(map(len, sets.values())) + (min(COMPARED, len(calibration)) if calibration else 0), progress)
    if train is not None and len(train):
        ensemble = _with_typical(ensemble, train)
    translator = opened(ensemble, precision, device=device)
    judgements = {
        name: calibrating.judge(corpus, translator, steps.named(f"translating {name}")) for name, corpus in sets.items()
    }
    calibrated: dict[str, Calibration] = {}
    training = dict(ensemble.training)
    if CALIBRATION in judgements:
        calibrated[profile([executor(precision)], described(device)).name] = calibrating.calibration(
            judgements[CALIBRATION]
        )
        if precision != "fp32":
            training |= admitted(
                ensemble, judgements[CALIBRATION], precision, device, steps.named("translating float32")
            )
    manifest = Manifest(
        task="translation",
        family=ensemble.family,
        members=len(ensemble),
        schema_hash=_inputs_hash(ensemble),
        executor=executor(precision),
        heads={spec.HYPOTHESES.name: calibrated},
        golden=GOLDEN,
        golden_tolerance=members.GOLDEN_TOLERANCE,
        sources=building.sources_by_role({"training": train, CALIBRATION: calibration}, provenance),
        seeds=ensemble.seeds,
        training=training,
        quality={name: calibrating.quality(judged) for name, judged in judgements.items()},
        versions=building.versions("numpy", "sentencepiece"),
        files={},
    )
    files: dict[str, bytes | Path] = {
        **ensemble.graphs(precision),
        **ensemble.tokeniser,
        RECIPE: recipe.encode(ensemble.recipe),
        GOLDEN: npz.encode(members.golden(translator, ensemble.sizes.source)),
        CARD: card.text(manifest, spec.HEADS, spec.CARD).encode(),
    }
    return replay_set.attached(
        write(directory, manifest, files), translator, calibration, judge or {}, provenance, device=device
    )


def admitted(
    ensemble: Ensemble,
    judged: calibrating.TranslatedPairs,
    precision: Precision,
    device: Device,
    progress: Callable[[int], None],
) -> dict[str, float]:
    """Return the rank correlations with float32, for the manifest.

    Raises:
        ArtefactError: the head's measure ranks sentences differently.
    """
    rows = np.unique(np.linspace(0, len(judged) - 1, min(COMPARED, len(judged))).astype(int)).tolist()
    exact: Translator = opened(ensemble, "fp32", device=device)
    translations = dict(exact.translations([judged.sources[row] for row in rows], progress))
    correlations = calibrating.agreement(
        [judged.translations[row] for row in rows], [translations[number] for number in range(len(rows))]
    )
    if why := calibrating.refused(correlations, len(ensemble) > 1):
        raise ArtefactError(f"{precision}: {why}")
    return {
        f"{precision}_rank_correlation_{name}": building.significant(value, 4) for name, value in correlations.items()
    }


def _with_typical(ensemble: Ensemble, train: Corpus) -> Ensemble:
    """Return the ensemble with the typical range (middle 99 %) of training sentences by ``appearance.FEATURES``."""
    tokeniser = members.tokeniser(ensemble.recipe, ensemble.tokeniser)
    rows = np.unique(np.linspace(0, len(train) - 1, min(LOOKED, len(train))).astype(int)).tolist()
    looks = []
    for row in rows:
        english = train.pairs[row].english
        looks.append(appearance.measured(english, tokeniser.sentence(english)))
    return replace(ensemble, recipe=msgspec.structs.replace(ensemble.recipe, typical=building.typical(looks)))


def _inputs_hash(ensemble: Ensemble) -> str:
    """Return the hash of the inputs: sentences in the tokens of the tokeniser."""
    digest = hashlib.sha256(f"English sentences, {ensemble.recipe.tokens}".encode())
    for name in sorted(ensemble.tokeniser):
        digest.update(ensemble.tokeniser[name])
    return digest.hexdigest()
