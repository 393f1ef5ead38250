"""A trained lesion ensemble before it becomes an artefact."""

from collections.abc import Mapping
from dataclasses import dataclass

from models.manifest import Executor
from models.tasks.lesion.artefact.recipe import Channel
from models.tasks.lesion.spec import LESIONS


@dataclass(frozen=True)
class Ensemble:
    """Members of one family, as graphs."""

    family: str
    graphs: tuple[bytes, ...]
    """ONNX graph of each member."""
    channels: tuple[Channel, ...]
    window: tuple[int, int, int]
    seeds: tuple[int, ...]
    training: Mapping[str, float | int | str]
    samples: int = 1
    """Number of frozen masks of each member."""
    sample_seed: int | None = None
    """Seed of the masks; None for graphs without masks."""

    @property
    def several(self) -> bool:
        """True if knowledge uncertainty exists."""
        return len(self.graphs) * self.samples > 1

    @property
    def files(self) -> dict[str, bytes]:
        """Content of the files by name."""
        return {f"member-{number}.onnx": graph for number, graph in enumerate(self.graphs)}

    @property
    def executor(self) -> Executor:
        """Executor that runs the graphs."""
        return Executor(kind="onnx", layout="separate", models={LESIONS.name: tuple(self.files)})
