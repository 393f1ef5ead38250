"""Members of the released baselines: checkpoints of fairseq 0.7 to 0.12 (``transformer_wmt_en_de_big`` and its kin).

fairseq is not needed, and no code that a checkpoint names is run (``models.untrusted_checkpoints``).
"""

import re
from argparse import Namespace
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models import untrusted_checkpoints
from models.artefact import ArtefactError
from models.tasks.translation.networks.settings import Sizes

LARGEST_BYTES = 8 << 30
"""Limit of the size of a checkpoint; with its optimiser it has three times the size of its weights."""
_SKIPPED = re.compile(r"(?:^|\.)(?:version|_float_tensor|embed_positions\..*)$")
_MEASURED = ("encoder.embed_tokens.weight", "decoder.embed_tokens.weight", "encoder.layers.0.fc1.weight")
_OLD_NORMS = {
    "encoder": {"0": "self_attn_layer_norm", "1": "final_layer_norm"},
    "decoder": {"0": "self_attn_layer_norm", "1": "encoder_attn_layer_norm", "2": "final_layer_norm"},
}


@dataclass(frozen=True)
class Member:
    """Member with its weights by the names of ``networks.transformer``, and its sizes."""

    weights: Mapping[str, NDArray[np.float32]]
    sizes: Sizes


def read(path: Path) -> Member:
    """Return the member in a checkpoint.

    Raises:
        ArtefactError: the file is not a checkpoint of fairseq, weights are missing, not finite or of a wrong shape, or
            the model is not supported (learnt positions, a separate output table).
    """
    checkpoint = untrusted_checkpoints.read(path, LARGEST_BYTES)
    if not isinstance(checkpoint, Mapping) or not isinstance(checkpoint.get("model"), Mapping):
        raise ArtefactError(f"{path}: no checkpoint of fairseq: it has no weights under the name 'model'")
    weights = _weights(checkpoint["model"], path)
    sizes = _sizes(weights, checkpoint.get("args"), path)
    _check(weights, sizes, path)
    return Member(weights, sizes)


def _weights(state: Mapping[str, Any], path: Path) -> dict[str, NDArray[np.float32]]:
    import torch

    weights: dict[str, NDArray[np.float32]] = {}
    total = 0
    for name, value in state.items():
        if not isinstance(name, str) or not isinstance(value, torch.Tensor):
            raise ArtefactError(f"{path}: {str(name)[:80]} is no weight")
        total += value.numel() * 4
        if total > LARGEST_BYTES:  # names may share a tensor
            raise ArtefactError(f"{path}: weights of more than {LARGEST_BYTES} bytes")
        own = name.removeprefix("module.")
        if own.endswith("embed_positions.weight"):
            raise ArtefactError(f"{path}: {own}: positions are learnt; sinusoidal ones are served")
        if _SKIPPED.search(own):
            continue
        array = value.detach().to(torch.float32).numpy()
        if not np.isfinite(array).all():
            raise ArtefactError(f"{path}: {own} holds numbers that are not finite")
        weights.update(_renamed(own, array))
    for name in ("decoder.embed_out", "decoder.output_projection.weight"):
        own_table = weights.pop(name, None)
        if own_table is not None and not np.array_equal(own_table, weights.get("decoder.embed_tokens.weight", ())):
            raise ArtefactError(f"{path}: {name} is no copy of the decoder's embeddings; such models are not served")
    return weights


def _renamed(name: str, array: NDArray[np.float32]) -> dict[str, NDArray[np.float32]]:
    """Return a weight under its current names: fairseq 0.7 joined query, key and value, 0.6 numbered norms."""
    if match := re.fullmatch(r"(.*)\.in_proj_(weight|bias)", name):
        if not array.ndim or len(array) % 3:
            return {name: array}
        parts = np.split(array, 3)
        return {f"{match[1]}.{kind}_proj.{match[2]}": part for kind, part in zip("qkv", parts, strict=True)}
    if match := re.fullmatch(r"(encoder|decoder)(\.layers\.\d+)\.layer_norms\.(\d)\.(weight|bias)", name):
        norm = _OLD_NORMS[match[1]].get(match[3], f"layer_norms.{match[3]}")
        return {f"{match[1]}{match[2]}.{norm}.{match[4]}": array}
    return {name: array}


def _sizes(weights: Mapping[str, NDArray[np.float32]], options: Any, path: Path) -> Sizes:
    try:
        source, target, inner = (weights[name] for name in _MEASURED)
    except KeyError as error:
        raise ArtefactError(f"{path}: {error.args[0]} is missing") from error
    for name in _MEASURED:
        if weights[name].ndim != 2:
            raise ArtefactError(f"{path}: {name} has the shape {list(weights[name].shape)}, two axes are needed")
    width = source.shape[-1]
    heads = getattr(options, "encoder_attention_heads", None) if isinstance(options, Namespace) else None
    if heads is None:
        heads = width // 64  # as in every Transformer of the paper
    if type(heads) is not int:
        raise ArtefactError(f"{path}: encoder_attention_heads is {heads!r}; a whole number is needed")
    try:
        return Sizes(
            source=len(source),
            target=len(target),
            width=width,
            heads=heads,
            inner=len(inner),
            encoder=_layers(weights, "encoder", path),
            decoder=_layers(weights, "decoder", path),
            norm_first="encoder.layer_norm.weight" in weights,
            shared=False,
        )
    except ValueError as error:
        raise ArtefactError(f"{path}: {error}") from error


def _layers(weights: Mapping[str, Any], side: str, path: Path) -> int:
    numbers = {match[1] for name in weights if (match := re.match(rf"{side}\.layers\.(\d+)\.", name))}
    for number in range(len(numbers)):
        if str(number) not in numbers:
            raise ArtefactError(f"{path}: {side}.layers.{number} is missing; there are {len(numbers)} layers")
    return len(numbers)


def _check(weights: Mapping[str, NDArray[np.float32]], sizes: Sizes, path: Path) -> None:
    import torch

    from models.tasks.translation.networks.transformer import Transformer

    with torch.device("meta"):
        expected = {name: tuple(value.shape) for name, value in Transformer(sizes).state_dict().items()}
    if missing := sorted(expected.keys() - weights.keys()):
        raise ArtefactError(f"{path}: {missing[0]} is missing ({len(missing)} of {len(expected)} weights are)")
    if unknown := sorted(weights.keys() - expected.keys()):
        raise ArtefactError(f"{path}: {unknown[0]} is no weight of this Transformer ({len(unknown)} are not)")
    for name, shape in expected.items():
        if weights[name].shape != shape:
            raise ArtefactError(f"{path}: {name} has the shape {list(weights[name].shape)}, {list(shape)} is needed")
