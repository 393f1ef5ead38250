"""Parts of an artefact of rows that follow from its labelled tables: training range and density, replay set."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from numpy.typing import NDArray

from models import building, replay
from models.artefact import Artefact
from models.building import Provenance
from models.executors.device import CPU, Device
from models.schema import Schema


class Rows(Protocol):
    """Table with features [N, F] in the schema's order and units."""

    @property
    def features(self) -> NDArray[Any]:
        """Features [N, F]."""


def training_fields(data: Mapping[str, Rows], schema: Schema) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Return manifest fields and files that describe the inputs of ``train``; fewer without that table."""
    if "train" not in data:
        return {"format": 1}, {}
    train = data["train"].features
    files = building.training_inputs(train, data["dev_in"].features if "dev_in" in data else None, schema)
    fields = {
        "format": 3,
        "training_range": building.training_range(train, schema),
        "training_inputs": next(iter(files)),
    }
    return fields, files


def with_replay_set(
    artefact: Artefact,
    data: Mapping[str, Rows],
    encode: Callable[[NDArray[Any], NDArray[Any]], bytes],
    provenance: Provenance,
    *,
    device: Device = CPU,
) -> Artefact:
    """Add rows of ``dev_in`` and ``dev_out`` as the replay set of an artefact; without ``dev_in``, none is added.

    Args:
        encode: function that makes the task's file of inputs from in-domain and shifted rows.
        device: device that computes the scores; the one used for calibration.
    """
    if "dev_in" not in data:
        return artefact
    known = data["dev_in"].features
    shifted = data["dev_out"].features if "dev_out" in data else known[:0]
    return replay.attach(artefact, encode(known, shifted), replay.units_of(provenance), device=device)
