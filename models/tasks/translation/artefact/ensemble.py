"""A translation ensemble before it becomes an artefact, and the names of its files."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from models.executors.device import CPU, Device
from models.manifest import Executor
from models.tasks.translation.artefact.export.blocks import Weights
from models.tasks.translation.artefact.export.reading import reading_graph
from models.tasks.translation.artefact.export.stepping import stepping_graph
from models.tasks.translation.artefact.recipe import Recipe
from models.tasks.translation.inference import members
from models.tasks.translation.inference.translator import Translator
from models.tasks.translation.networks.settings import READING, STEPPING, Precision, Sizes
from models.tasks.translation.spec import HYPOTHESES
from models.tasks.translation.text.tokens import SPECIAL
from models.tasks.translation.text.vocabulary import UNKNOWN


@dataclass(frozen=True)
class Ensemble:
    """Members of one family, with the files of their tokeniser."""

    family: str
    members: tuple[Weights, ...]
    sizes: Sizes
    recipe: Recipe
    tokeniser: Mapping[str, bytes]
    """Content of the files by name."""
    seeds: tuple[int, ...]
    training: Mapping[str, float | int | str]

    def __len__(self) -> int:
        return len(self.members)

    def subset(self, members: Sequence[int]) -> Ensemble:
        """Return the ensemble of some members.

        Raises:
            ValueError: there are no members, or one does not exist.
        """
        if not members or not set(members) <= set(range(len(self))):
            raise ValueError(f"{len(self)} members have no subset {list(members)}")
        return replace(
            self,
            members=tuple(self.members[member] for member in members),
            seeds=tuple(self.seeds[member] for member in members),
        )

    def graphs(self, precision: Precision) -> dict[str, bytes]:
        """Return the two graphs by file name."""
        special = SPECIAL if self.recipe.marks else UNKNOWN + 1
        return {
            READING: reading_graph(self.members, self.sizes, precision),
            STEPPING: stepping_graph(self.members, self.sizes, special, self.recipe.candidates, precision),
        }


def executor(precision: Precision) -> Executor:
    """Return the executor that runs the graphs."""
    return Executor(kind="onnx", layout="stepwise", precision=precision, models={HYPOTHESES.name: (READING, STEPPING)})


def opened(ensemble: Ensemble, precision: Precision, *, device: Device = CPU) -> Translator:
    """Return the translator of an ensemble, as in serving.

    Raises:
        ArtefactError: tokeniser and weights do not fit each other.
        ProviderUnavailable: CUDA was requested and is not available, or does not support the precision.
    """
    with tempfile.TemporaryDirectory(prefix="demur-") as scratch:
        paths = []
        for name, content in ensemble.graphs(precision).items():
            paths.append(Path(scratch) / name)
            paths[-1].write_bytes(content)
        graphs = members.opened(paths, precision, device, "the ensemble")
    return members.assembled(graphs, ensemble.recipe, ensemble.tokeniser, "the ensemble")
