"""Loading of a translation artefact: graphs, tokeniser and rules as a ``Translator``, and its golden sentences."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.artefact import Artefact, ArtefactError
from models.executors.device import CPU, Device
from models.executors.failures import DeviceFailed, NodesRefused, ProviderUnavailable
from models.executors.onnx import OnnxGraph
from models.tasks.translation.artefact import recipe as recipes
from models.tasks.translation.artefact.recipe import Recipe
from models.tasks.translation.inference.decoding.decoder import Decoder, Source, search
from models.tasks.translation.inference.translator import Tokeniser, Translator
from models.tasks.translation.networks.settings import LAST, PAST, PREFIX, READING, STEPPING, TOKENS, Precision
from models.tasks.translation.text import released_tokens
from models.tasks.translation.text.pieces import Pieces
from models.tasks.translation.text.tokens import SPECIAL, Tokens
from models.tasks.translation.text.vocabulary import END, PAD

PIECES = "pieces.model"
GOLDEN_TOLERANCE = 2e-2
"""Relative tolerance of scores: quantisation to eight bits and dependent steps amplify rounding."""
_SCORE, _SCR_PE = "score", "scr_pe"
_GOLDEN_LENGTHS = (3, 6, 9, 14, 20)


def translator(artefact: Artefact, *, device: Device = CPU) -> Translator:
    """Return the ensemble of a verified artefact.

    Raises:
        ArtefactError: graphs or tokeniser are damaged or of another task, or the number of members differs from the
            manifest.
        ProviderUnavailable: CUDA was requested and is not available, or does not support the precision.
    """
    manifest = artefact.manifest
    names = manifest.executor.files
    if manifest.joined or manifest.executor.layout != "stepwise" or len(names) != 2:
        raise ArtefactError(
            f"{artefact.directory}: a translation artefact has one executor of two graphs, layout stepwise; the "
            f"manifest has {1 + len(manifest.joined)}, the first {manifest.executor.layout} with {len(names)} graphs"
        )
    recipe = recipes.read(artefact)
    needed = (PIECES,) if recipe.tokens == "pieces" else released_tokens.FILES
    files = {name: artefact.path(name).read_bytes() for name in needed}
    graphs = opened((artefact.path(name) for name in names), manifest.executor.precision, device, artefact.tag)
    ensemble = assembled(graphs, recipe, files, str(artefact.directory))
    if ensemble.decoder.members != manifest.members:
        raise ArtefactError(
            f"{artefact.directory}: the graphs have {ensemble.decoder.members} members, the manifest says "
            f"{manifest.members}"
        )
    return ensemble


def opened(paths: Iterable[Path], precision: Precision, device: Device, name: str) -> list[OnnxGraph]:
    """Return the graphs of an ensemble on a device.

    Args:
        name: name of the ensemble, for messages.

    Raises:
        ArtefactError: they cannot be loaded.
        ProviderUnavailable: CUDA was requested and is not available, or does not support the precision.
    """
    try:
        return [OnnxGraph(path, device=device) for path in paths]
    except NodesRefused as error:
        if precision != "int8":
            raise
        raise ProviderUnavailable(
            f"{name}: precision = int8: must be fp16 or fp32 on CUDA, which has no products of eight-bit numbers; set "
            "DEMUR_TRANSLATION_PROVIDER=cpu to serve it on the CPU, or make an artefact with --precision fp16"
        ) from error


def tokeniser(recipe: Recipe, files: Mapping[str, bytes]) -> Tokeniser:
    """Return the tokeniser that a recipe and its files describe.

    Raises:
        ArtefactError: the files are not those of a tokeniser.
    """
    if recipe.tokens == "released":
        return released_tokens.of_texts(files)
    pieces = Pieces(files[PIECES])
    try:
        count = len(pieces)
    except Exception as error:
        raise ArtefactError(f"{PIECES} is no model of SentencePiece: {error}") from error
    for side, rows in (("source", recipe.source), ("target", recipe.target)):
        if rows[:SPECIAL] != tuple(range(SPECIAL)) or not all(0 <= row < count for row in rows):
            raise ArtefactError(f"the {side} tokens of the recipe are not those of {PIECES}, which has {count} pieces")
    return Tokens(pieces, recipe.source, recipe.target)


def assembled(graphs: Sequence[OnnxGraph], recipe: Recipe, files: Mapping[str, bytes], where: str) -> Translator:
    """Assemble graphs and tokeniser, and run a first step as a check.

    Args:
        graphs: encoder graph and decoder graph.
        files: files of the tokeniser by name.
        where: name of the ensemble, for messages.

    Raises:
        ArtefactError: they do not work together.
        DeviceFailed: the device failed in the first step.
    """
    reader, stepper = graphs
    if set(reader.inputs) != {TOKENS} or not {LAST, PAST, PREFIX} <= set(stepper.inputs):
        raise ArtefactError(f"{where}: {READING} and {STEPPING} are no graphs of a translation ensemble")
    try:
        ensemble = Translator(Decoder(reader, stepper, recipe.rules), tokeniser(recipe, files), recipe)
        ensemble.decoder.step(ensemble.decoder.read([Source(0, (END,)), Source(1, (recipe.marks, END))]))
    except ArtefactError as error:
        raise ArtefactError(f"{where}: {error}") from error
    except DeviceFailed:
        raise
    except Exception as error:
        raise ArtefactError(f"{where}: the graphs do not work together: {error}") from error
    return ensemble


class Golden:
    """Ensemble that scores recorded tokens again (``models.executors.golden``)."""

    outputs: tuple[str, ...] = (_SCORE, _SCR_PE)

    def __init__(self, decoder: Decoder) -> None:
        self._decoder = decoder

    def run(self, inputs: Mapping[str, NDArray[Any]], outputs: tuple[str, ...]) -> list[NDArray[np.float32]]:
        """Return the best score [G] and the mean SCR-PE over hypotheses [G] of padded sentences [G, s]."""
        rows = inputs[TOKENS]
        sources = [Source(number, row[row != PAD].tolist()) for number, row in enumerate(rows)]
        hypotheses = dict(search(self._decoder, sources, width=len(sources)))
        values = {
            _SCORE: [hypotheses[number][0].score for number in range(len(rows))],
            _SCR_PE: [
                np.mean([hypothesis.scores["scr_pe"] for hypothesis in hypotheses[number]])
                for number in range(len(rows))
            ],
        }
        return [np.array(values[name], np.float32) for name in outputs]


def golden(translator: Translator, tokens: int) -> dict[str, NDArray[Any]]:
    """Return random sentences and the ensemble's scores of them.

    Args:
        tokens: size of the source vocabulary.
    """
    draw = np.random.default_rng(0)
    rows = np.full((len(_GOLDEN_LENGTHS), max(_GOLDEN_LENGTHS)), PAD, np.int64)
    for row, length in zip(rows, _GOLDEN_LENGTHS, strict=True):
        row[: length - 1] = draw.integers(min(SPECIAL, tokens - 1), tokens, length - 1)
        row[length - 1] = END
    replayed = Golden(translator.decoder)
    arrays = replayed.run({TOKENS: rows}, replayed.outputs)
    return {TOKENS: rows, **dict(zip(replayed.outputs, arrays, strict=True))}
