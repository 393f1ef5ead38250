"""Measured ensembles as decoders: random weights, or trained members."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from models.executors.device import CPU, Device
from models.executors.onnx import OnnxGraph
from models.tasks.translation.artefact.ensemble import Ensemble
from models.tasks.translation.artefact.export.blocks import Weights
from models.tasks.translation.artefact.export.reading import reading_graph
from models.tasks.translation.artefact.export.stepping import stepping_graph
from models.tasks.translation.inference.decoding.beams import Rules
from models.tasks.translation.inference.decoding.decoder import Decoder
from models.tasks.translation.inference.members import PIECES
from models.tasks.translation.networks import settings as presets
from models.tasks.translation.networks.settings import READING, STEPPING, Precision, Sizes
from models.tasks.translation.networks.transformer import Transformer
from models.tasks.translation.text.pieces import Pieces
from models.tasks.translation.text.tokens import SPECIAL
from models.tasks.translation.text.vocabulary import END
from models.tasks.translation.training import train

MEMBERS, BEAM, CANDIDATES = 3, 5, 10
SMALL = replace(presets.preset("small").sizes, source=3307, target=5750, shared=False)
"""Sizes of the preset ``small`` after training: tables have only the rows that a side uses."""
_ENDING = 0.05  # small: the row is also the input before the first token
_LOUDNESS = 320.0  # scale of the columns read by the end; with the above, logits of the end from -12 to 12
_TURN = 30.0  # tokens over which the logits go from one limit to the other


@dataclass(frozen=True)
class Members:
    """Members to decode with."""

    weights: tuple[Weights, ...]
    sizes: Sizes
    rules: Rules
    ensemble: Ensemble | None = None
    """Ensemble with its tokeniser; None for random weights."""

    def __len__(self) -> int:
        return len(self.weights)


def drawn(sizes: Sizes, members: int = MEMBERS, *, ending: bool = False) -> Members:
    """Draw random weights.

    Args:
        ending: make hypotheses end, after about 22 tokens; only possible if norms come first. Otherwise they continue
            until they are cut.
    """
    weights = []
    for seed in range(members):
        torch.manual_seed(seed)
        network = Transformer(sizes).eval()
        if ending:
            _made_to_end(network, sizes.width)
        weights.append({name: value.detach().numpy() for name, value in network.state_dict().items()})
    return Members(tuple(weights), sizes, Rules(beam=BEAM, longest=60))


def _made_to_end(network: Transformer, width: int) -> None:
    """Give a network a model of length: the end's row depends on cosines of positions, in columns of its own."""
    half = width // 2
    rates = np.exp(np.arange(half) * -(np.log(10_000) / (half - 1)))
    count = max(width // 32, 1)
    columns = (half + np.argsort(np.abs(np.log(rates * _TURN / np.pi)))[:count]).tolist()
    side = network.decoder
    assert side.layer_norm is not None, "norms come first"
    with torch.no_grad():
        table = side.embed_tokens.weight
        table[:, columns] = 0
        table[END] = 0
        table[END, columns] = -_ENDING
        for layer in side.layers:
            for linear in (layer.self_attn.out_proj, layer.encoder_attn.out_proj, layer.fc2):
                linear.weight[columns] = 0
        side.layer_norm.weight[columns] = _LOUDNESS / count


def trained(folder: Path, preset: str) -> Members:
    """Return the finished members of a training's folder.

    Raises:
        LookupError: no member is finished there.
    """
    numbers = sorted(int(path.stem.split("-")[1]) for path in folder.glob("member-*.pt") if path.stem.count(".") == 0)
    if not numbers:
        raise LookupError(f"{folder} has no finished members, member-SEED.pt")
    pieces = Pieces((folder / "data" / PIECES).read_bytes())
    settings = presets.with_vocabulary(presets.preset(preset), len(pieces))
    ensemble = train.assembled(folder, settings, numbers[:MEMBERS], preset=preset)
    return Members(ensemble.members, ensemble.sizes, ensemble.recipe.rules, ensemble)


def decoder(
    weights: Sequence[Weights],
    sizes: Sizes,
    rules: Rules,
    folder: Path,
    precision: Precision,
    *,
    device: Device = CPU,
) -> Decoder:
    """Return a decoder with the graphs of some members on one thread."""
    write(weights, sizes, folder, precision)
    return loaded(folder, rules, device)


def write(weights: Sequence[Weights], sizes: Sizes, folder: Path, precision: Precision) -> None:
    """Write the two graphs one after the other, since large graphs need twice their size meanwhile."""
    (folder / READING).write_bytes(reading_graph(weights, sizes, precision))
    (folder / STEPPING).write_bytes(stepping_graph(weights, sizes, SPECIAL, CANDIDATES, precision))


def loaded(folder: Path, rules: Rules, device: Device = CPU) -> Decoder:
    """Open the graphs written by ``write``."""
    return Decoder(OnnxGraph(folder / READING, device=device), OnnxGraph(folder / STEPPING, device=device), rules)


def tokens(count: int, vocabulary: int, seed: int = 0) -> list[list[int]]:
    """Return sentences of random tokens with realistic lengths: half of them have 12 to 27."""
    draw = np.random.default_rng(seed)
    lengths = np.clip(np.rint(np.exp(draw.normal(2.9, 0.6, count))), 2, 60).astype(int)
    return [[*draw.integers(SPECIAL, vocabulary, length - 1).tolist(), END] for length in lengths]
