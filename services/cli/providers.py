"""Options of commands that make artefacts: ``--provider``, and ``--no-replay-set`` for data that stay private."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import get_args

from models.executors.device import Device
from models.profile import Provider
from services.runtime.settings import Settings

PROVIDERS: tuple[str, ...] = get_args(Provider)
NO_REPLAY_SET = "--no-replay-set"
NO_REPLAY_SET_HELP = (
    "leave inputs of your data out of the artefact; another provider or device then defers everything, until "
    "`demur models qualify --data` compares it, which it cannot after --provider cuda"
)
PROVIDER_HELP = "device that computes what is calibrated, under its numeric profile; default: cpu"


def device(given: argparse.Namespace) -> Device:
    """Return the device that the option names, with the arithmetic that the settings say.

    Raises:
        ProviderUnavailable: its libraries are missing; said before anything is read or trained.
    """
    found = replace(Settings.read(task=given.task).device, provider=given.provider or "cpu")
    if found.provider == "cuda":
        from models.executors import cuda_libraries  # late: it loads ONNX Runtime

        cuda_libraries.load()
    return found
