"""Reader of foreign weight files (a ``state_dict`` saved by torch) that runs no code in them."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from models.artefact import ArtefactError

if TYPE_CHECKING:
    from torch import Tensor, nn

_PARALLEL = "module."
"""Prefix that training on several GPUs adds to names."""
_COUNTER = "num_batches_tracked"
"""Name of the only whole numbers among weights."""


def read(path: Path, largest_bytes: int) -> dict[str, Tensor]:
    """Return the weights by name.

    Raises:
        ArtefactError: the file is too large, cannot be read, or holds anything but weights by name.
    """
    import torch

    if path.exists() and path.stat().st_size > largest_bytes:
        raise ArtefactError(f"{path}: larger than {largest_bytes} bytes, which no member is")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # messages about other pickle protocols, which are rejected or read
            weights = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise ArtefactError(
            f"{path}: holds more than weights, or is damaged; save the state_dict alone: {str(error).splitlines()[0]}"
        ) from error
    except (OSError, RuntimeError, EOFError, ValueError, KeyError) as error:
        raise ArtefactError(f"{path}: cannot be read as weights: {str(error).splitlines()[0]}") from error
    if not isinstance(weights, Mapping) or not all(
        isinstance(name, str)
        and isinstance(value, torch.Tensor)
        and (value.is_floating_point() or name.endswith(_COUNTER))
        for name, value in weights.items()
    ):
        raise ArtefactError(f"{path}: not a dictionary of weights by name")
    return {name.removeprefix(_PARALLEL): value for name, value in weights.items()}


def fill(network: nn.Module, state: Mapping[str, Tensor], path: Path, what: str) -> None:
    """Give a network the weights of a file.

    Args:
        path: path of the file, for messages.
        what: name of the network in messages, such as "U-Net".

    Raises:
        ArtefactError: weights that are missing, too many, of another shape, or not finite.
    """
    import torch

    expected = {name: tuple(value.shape) for name, value in network.state_dict().items()}
    actual = {name: tuple(value.shape) for name, value in state.items()}
    if missing := sorted(expected.keys() - actual.keys()):
        raise ArtefactError(f"{path}: {missing[0]} is missing ({len(missing)} of {len(expected)} weights are)")
    if unknown := sorted(actual.keys() - expected.keys()):
        raise ArtefactError(f"{path}: {unknown[0]} is no weight of this {what} ({len(unknown)} are not)")
    for name, shape in expected.items():
        if actual[name] != shape:
            raise ArtefactError(f"{path}: {name} has the shape {list(actual[name])}, {list(shape)} is needed")
        if not torch.isfinite(state[name]).all():
            raise ArtefactError(f"{path}: {name} holds numbers that are not finite")
    network.load_state_dict(dict(state))
