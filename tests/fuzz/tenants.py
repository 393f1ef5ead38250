"""The tenants that services run, of the reference artefacts that load quickest; made once, none is warmed up."""

import json
from functools import cache
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry

from models import artefact
from services.app.assembly import Assembled, assemble
from services.request.metrics import Metrics
from services.runtime.settings import TASK_DEFAULTS, Settings
from services.transport.served_model import ServedModel

PROJECT = Path(__file__).resolve().parents[2]
ARTEFACTS = {
    "vessel": "dnn-1",
    "weather": "catboost-1",
    "motion": "bc-5",
    "lesion": "unet-5",
    "translation": "transformer-3",
}


def settings(task: str, **other: Any) -> Settings:
    """As the service has them by default, without a ledger."""
    return Settings(**(dict(TASK_DEFAULTS.get(task, {})) | {"task": task, "lanes": 1, "ledger": "none"} | other))


@cache
def assembled(task: str) -> Assembled:
    """A tenant and what it runs on."""
    source = artefact.read(PROJECT / "artefacts" / task / ARTEFACTS[task])
    return assemble(source, settings(task), Metrics(task, CollectorRegistry()))


def tenant(task: str) -> ServedModel:
    """A tenant without a ledger."""
    return assembled(task).tenant


def row(task: str) -> dict[str, float]:
    """A row in the middle of every range."""
    schema = tenant(task).description.schema
    assert schema is not None
    return {
        feature.name: feature.values[0]
        if feature.values
        else max(feature.lower, min(feature.upper, (feature.lower + feature.upper) / 2))
        for feature in schema.features
    }


def text(value: Any) -> bytes:
    """As JSON."""
    return json.dumps(value, ensure_ascii=False).encode()
