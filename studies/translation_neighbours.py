"""Dependence of a sentence's scores on its neighbours in a pass, in eight bits and in float32.

    python -m studies.translation_neighbours [--artefact artefacts/translation/transformer-3] [--units 400]

Translates the sentences of an artefact's replay set one by one, and again in passes of 7 and 16, with the eight-bit
graphs and with float32 graphs of the same weights, whose activations are not rounded to levels. Takes some minutes.
"""

import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper

from benchmarks import machine
from models import artefact as artefacts
from models import replay
from models.artefact import Artefact
from models.executors.onnx import OnnxGraph
from models.npz import decode
from models.profile import profile
from models.qualification.order import rank_correlation
from models.tasks.translation.artefact import recipe
from models.tasks.translation.artefact.replay_set import decoded
from models.tasks.translation.inference import members
from models.tasks.translation.inference.decoding.decoder import search
from models.tasks.translation.inference.members import PIECES
from models.tasks.translation.inference.translator import Translator, predictive
from models.tasks.translation.spec import HYPOTHESES
from models.uncertainty import score
from studies import pages

WIDTHS = (7, 16)
MEASURE = "scr_pe"
RETENTIONS = (0.6, 0.95)
"""Retentions of the thresholds whose crossings are counted; the first is an artefact's default."""
EIGHT_BITS = "MatMulIntegerToFloat"


@dataclass(frozen=True)
class Scored:
    """Scores and translations of N sentences at one width of passes."""

    uncertainty: NDArray[np.float64]
    """SCR-PE [N], nats."""
    best: Sequence[str]
    """Best translation of each sentence."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = pages.parser("translation_neighbours", __doc__)
    parser.add_argument("--artefact", type=Path, default=pages.ARTEFACTS / "translation" / "transformer-3")
    parser.add_argument("--units", type=int, default=400, help="sentences of the replay set, at most")
    options = parser.parse_args(arguments)
    artefact = artefacts.read(options.artefact, task="translation")
    texts = sentences(artefact)[: options.units]
    print(f"{len(texts)} sentences of the replay set of {pages.named(artefact)}; {machine.line()}", flush=True)
    head = artefact.manifest.heads[HYPOTHESES.name][profile(artefact.manifest.executors).name]
    limits = [head.retention.threshold(share) for share in RETENTIONS]
    kept = replay.reference(artefact)[HYPOTHESES.name][MEASURE][: len(texts)].astype(np.float64)
    for name, translator in (("eight bits", members.translator(artefact)), ("float32", in_float32(artefact))):
        alone = scored(translator, texts, 1)
        if name == "eight bits":
            report = apart(kept, alone.uncertainty, limits)
            print(f"{name}, alone here against the scores kept with the artefact, of full passes: {report}", flush=True)
        for width in WIDTHS:
            report = compared(alone, scored(translator, texts, width), limits)
            print(f"{name}, passes of {width} against alone: {report}", flush=True)
    return 0


def sentences(artefact: Artefact) -> list[str]:
    """Return the texts of an artefact's replay set."""
    stored = artefact.manifest.replay
    assert stored is not None
    return decoded(decode(artefact.path(stored.inputs).read_bytes(), replay.MOST_INPUT_BYTES))


def scored(translator: Translator, texts: Sequence[str], width: int) -> Scored:
    """Translate all texts, at most ``width`` a pass."""
    requests = [translator.sentence(text) for text in texts]
    sources = (translator.source(place, request) for place, request in enumerate(requests))
    by_place = {
        place: translator.translation(requests[place], hypotheses)
        for place, hypotheses in search(translator.decoder, sources, width=width)
    }
    ordered = [by_place[place] for place in range(len(texts))]
    return Scored(
        score(predictive(ordered), MEASURE).astype(np.float64), [translation.texts[0] for translation in ordered]
    )


def compared(alone: Scored, together: Scored, thresholds: Sequence[float]) -> str:
    """Return a line on the difference of two widths: scores as in ``apart``, and best translations."""
    others = sum(first != other for first, other in zip(alone.best, together.best, strict=True))
    scores = apart(alone.uncertainty, together.uncertainty, thresholds)
    return f"{scores}; {others} best translations differ"


def apart(first: NDArray[np.float64], second: NDArray[np.float64], thresholds: Sequence[float]) -> str:
    """Return a line on the difference of two scores of the same sentences: relative difference, order, sides."""
    distance = np.abs(second - first) / np.abs(first)
    order = rank_correlation(first, second)
    sides = [int(((first <= threshold) != (second <= threshold)).sum()) for threshold in thresholds]
    return (
        f"relative difference of SCR-PE median {np.median(distance):.1e}, 95 % {np.quantile(distance, 0.95):.1e}, "
        f"largest {distance.max():.1e}; rank correlation {order:.6f}, Pearson {np.corrcoef(first, second)[0, 1]:.6f}; "
        f"changes of sides at the thresholds of {' and '.join(f'{share:.0%}' for share in RETENTIONS)}: "
        f"{' and '.join(map(str, sides))}"
    )


def in_float32(artefact: Artefact) -> Translator:
    """Open an eight-bit artefact with the same weights and activations in float32."""
    read = recipe.read(artefact)
    with tempfile.TemporaryDirectory() as folder:
        graphs = []
        for name in artefact.manifest.executor.files:
            path = Path(folder) / name
            path.write_bytes(without_levels(artefact.path(name).read_bytes()))
            graphs.append(OnnxGraph(path))
    return members.assembled(graphs, read, {PIECES: artefact.path(PIECES).read_bytes()}, str(artefact.directory))


def without_levels(graph: bytes) -> bytes:
    """Return a graph whose products of levels are products of float32, with the same weights."""
    model = onnx.load_from_string(graph)
    before = {output: node for node in model.graph.node for output in node.output}
    nodes = []
    for node in model.graph.node:
        if node.op_type != EIGHT_BITS:
            nodes.append(node)
            continue
        rows, levels, _, scales = node.input[:4]
        name = node.output[0]
        nodes += [
            helper.make_node("Cast", [levels], [f"{name}/levels"], to=TensorProto.FLOAT),
            helper.make_node("Mul", [f"{name}/levels", scales], [f"{name}/weights"]),
            helper.make_node("MatMul", [before[rows].input[0], f"{name}/weights"], [name]),
        ]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    return bytes(model.SerializeToString())


if __name__ == "__main__":
    sys.exit(main())
