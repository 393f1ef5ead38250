"""Checkpoints of other people's training programs: their tensors and plain values, without running what they name.

A pickle may name any function of any module. Here the names of tensors and plain containers mean what they mean to
torch; every other name becomes an inert object, so that a checkpoint that carries its meters and its program's options
can be read where that program is not installed, and one that carries something worse does nothing.
"""

from __future__ import annotations

import argparse
import collections
import pickle
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from models.artefact import ArtefactError

_TENSORS = {
    ("torch._utils", name)
    for name in ("_rebuild_tensor", "_rebuild_tensor_v2", "_rebuild_parameter", "_rebuild_parameter_with_state")
}
_PLAIN: dict[tuple[str, str], Any] = {
    ("collections", "OrderedDict"): collections.OrderedDict,
    ("argparse", "Namespace"): argparse.Namespace,
    ("builtins", "set"): set,
    ("__builtin__", "set"): set,
}


class Inert:
    """What stands for an object of a class that is not looked up."""

    def __init__(self, *given: object, **named: object) -> None:
        pass

    def __call__(self, *given: object, **named: object) -> Inert:
        return self

    def __setstate__(self, state: object) -> None:
        pass

    def __setitem__(self, key: object, value: object) -> None:
        pass

    def append(self, value: object) -> None:
        pass

    def extend(self, values: object) -> None:
        pass


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in _PLAIN:
            return _PLAIN[module, name]
        if (module, name) in _TENSORS:
            return super().find_class(module, name)
        if module == "torch" and (name.endswith("Storage") or name in ("Size", "device")):
            return super().find_class(module, name)
        return Inert


def _load(file: Any, **options: Any) -> Any:
    return _Reader(file, **options).load()


def read(path: Path, largest_bytes: int) -> Any:
    """What a checkpoint holds, as torch saved it in either of its formats; objects of unknown classes are ``Inert``.

    Raises:
        ArtefactError: too large, or no checkpoint of torch.
    """
    import torch

    if path.exists() and path.stat().st_size > largest_bytes:
        raise ArtefactError(f"{path}: larger than {largest_bytes} bytes, which no member is")
    module = SimpleNamespace(Unpickler=_Reader, load=_load, __name__="models.strangers")
    try:
        return torch.load(path, map_location="cpu", weights_only=False, pickle_module=module)
    except (OSError, RuntimeError, EOFError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ArtefactError(f"{path}: cannot be read as a checkpoint: {str(error).splitlines()[0]}") from error
    except (pickle.UnpicklingError, zipfile.BadZipFile, IndexError, AssertionError) as error:
        raise ArtefactError(f"{path}: cannot be read as a checkpoint: {str(error).splitlines()[0]}") from error
