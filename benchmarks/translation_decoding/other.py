"""CTranslate2 as the reference: one member in its format, searched with the rules that both support.

CTranslate2 has no ensembles, marks or uncertainties: an ensemble takes one run per member. Only this benchmark needs it
(``pip install ctranslate2``).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from models.tasks.translation.artefact.export.blocks import Weights
from models.tasks.translation.networks.settings import Sizes
from models.tasks.translation.text.vocabulary import END, PAD, START, UNKNOWN

Compute = Literal["float32", "int8"]

_NAMES = {START: "<s>", PAD: "<blank>", END: "</s>", UNKNOWN: "<unk>"}
_PLACES = 1024


class Missing(LookupError):
    """Error raised if CTranslate2 is not installed."""


@dataclass(frozen=True)
class Candidate:
    """Hypothesis of CTranslate2."""

    tokens: tuple[int, ...]
    """Tokens without the end of sentence."""
    score: float
    """Log-probability over the number of tokens with the end of sentence, nats."""


class Other:
    """One member in CTranslate2, on one thread that is not the caller's.

    Raises:
        Missing: CTranslate2 is not installed.
    """

    def __init__(self, weights: Weights, sizes: Sizes, folder: Path, compute: Compute) -> None:
        """Write the member in CTranslate2's format and open it.

        Args:
            folder: empty folder for its files.
        """
        library = _library()
        spec = _spec(library, weights, sizes)
        spec.validate()
        spec.optimize(quantization=compute)
        spec.save(str(folder))
        self._translator = library.Translator(
            str(folder), device="cpu", compute_type=compute, inter_threads=1, intra_threads=1
        )

    def search(self, sentences: Sequence[Sequence[int]], beam: int, width: int, most: int) -> list[list[Candidate]]:
        """Return hypotheses of sentences (tokens with their end), best first.

        Args:
            width: number of sentences that are decoded side by side, those of similar length together.
            most: largest number of tokens of a hypothesis.
        """
        results = self._translator.translate_batch(
            [[_name(token) for token in tokens] for tokens in sentences],
            max_batch_size=width,
            beam_size=beam,
            num_hypotheses=beam,
            length_penalty=1,
            max_decoding_length=most,
            max_input_length=0,
            disable_unk=False,
            return_scores=True,
        )
        return [
            [
                Candidate(tuple(map(_number, tokens)), score)
                for tokens, score in zip(result.hypotheses, result.scores, strict=True)
            ]
            for result in results
        ]


def installed() -> bool:
    """Return whether CTranslate2 is installed."""
    try:
        _library()
    except Missing:
        return False
    return True


def _library() -> Any:
    try:
        import ctranslate2
        import ctranslate2.specs
    except ImportError as error:
        raise Missing("CTranslate2 is not installed; `pip install ctranslate2` for this benchmark alone") from error
    return ctranslate2


def _name(token: int) -> str:
    return _NAMES.get(token) or f"t{token}"


def _number(name: str) -> int:
    numbers = {name: token for token, name in _NAMES.items()}
    return numbers[name] if name in numbers else int(name[1:])


def _spec(library: Any, weights: Weights, sizes: Sizes) -> Any:
    specs = library.specs
    spec = specs.TransformerSpec.from_config(
        (sizes.encoder, sizes.decoder), sizes.heads, pre_norm=sizes.norm_first, activation=specs.Activation.RELU
    )
    for side, name, layers in ((spec.encoder, "encoder", sizes.encoder), (spec.decoder, "decoder", sizes.decoder)):
        table = weights[f"{name}.embed_tokens.weight"].copy()  # quantising is done in place
        embeddings = side.embeddings[0] if name == "encoder" else side.embeddings
        embeddings.weight = table
        side.scale_embeddings = math.sqrt(sizes.width)
        side.position_encodings.encodings = _places(sizes.width)
        if sizes.norm_first:
            _norm(side.layer_norm, weights, f"{name}.layer_norm")
        for number in range(layers):
            _layer(side.layer[number], weights, f"{name}.layers.{number}", decoder=name == "decoder")
    spec.decoder.projection.weight = weights["decoder.embed_tokens.weight"].copy()
    spec.register_source_vocabulary([_name(token) for token in range(sizes.source)])
    spec.register_target_vocabulary([_name(token) for token in range(sizes.target)])
    spec.config.decoder_start_token = spec.config.eos_token
    return spec


def _layer(spec: Any, weights: Weights, name: str, decoder: bool) -> None:
    own = f"{name}.self_attn"
    _linear(spec.self_attention.linear[0], weights, f"{own}.q_proj", f"{own}.k_proj", f"{own}.v_proj")
    _linear(spec.self_attention.linear[1], weights, f"{own}.out_proj")
    _norm(spec.self_attention.layer_norm, weights, f"{own}_layer_norm")
    if decoder:
        across = f"{name}.encoder_attn"
        _linear(spec.attention.linear[0], weights, f"{across}.q_proj")
        _linear(spec.attention.linear[1], weights, f"{across}.k_proj", f"{across}.v_proj")
        _linear(spec.attention.linear[2], weights, f"{across}.out_proj")
        _norm(spec.attention.layer_norm, weights, f"{across}_layer_norm")
    _linear(spec.ffn.linear_0, weights, f"{name}.fc1")
    _linear(spec.ffn.linear_1, weights, f"{name}.fc2")
    _norm(spec.ffn.layer_norm, weights, f"{name}.final_layer_norm")


def _linear(spec: Any, weights: Weights, *names: str) -> None:
    """Combine linear layers of the same input side by side."""
    spec.weight = np.concatenate([weights[f"{name}.weight"] for name in names])
    spec.bias = np.concatenate([weights[f"{name}.bias"] for name in names])


def _norm(spec: Any, weights: Weights, name: str) -> None:
    spec.gamma, spec.beta = weights[f"{name}.weight"].copy(), weights[f"{name}.bias"].copy()


def _places(width: int) -> NDArray[np.float32]:
    """Return sinusoidal embeddings of positions, the first numbered PAD + 1; see ``networks.transformer.positions``."""
    half = width // 2
    rates = np.exp(np.arange(half) * -(math.log(10_000) / (half - 1)))
    angles = (np.arange(_PLACES) + PAD + 1)[:, None] * rates
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=1).astype(np.float32)
