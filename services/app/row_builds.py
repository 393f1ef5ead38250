"""Build of an artefact of somebody's own model, and its way into the model store of an installation."""

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from models.tasks.rows.artefact.build import Built, Options, build
from models.tasks.rows.artefact.members import Group
from models.tasks.rows.artefact.recipe import Recipe
from services.app.model_store import Store
from services.runtime import row_models
from services.runtime.registry import GRPC_PORT_OFFSET

Progress = Callable[[float, str], None]


@dataclass(frozen=True)
class StoredModel:
    """A built artefact in the model store."""

    name: str
    tag: str
    built: Built
    http_port: int
    grpc_port: int

    @property
    def serve(self) -> str:
        """Command that serves it."""
        return f"demur serve rows --model {self.name}"


def build_and_store(
    recipe: Recipe,
    groups: Sequence[Group],
    options: Options,
    home: Path,
    *,
    out: Path | None = None,
    progress: Progress = lambda done, what: None,
) -> StoredModel:
    """Build an artefact, add it to the store of a home directory, and give it ports.

    Args:
        out: folder that also keeps the artefact; None for none.

    Raises:
        Refused: models, data or options cannot be used; nothing is stored then.
        ValueError: the name cannot be used.
    """
    row_models.check_name(recipe.name)
    with tempfile.TemporaryDirectory() as scratch:
        folder = out or Path(scratch) / "artefact"
        built = build(recipe, groups, folder, options, progress)
        stored = Store(home).add(folder)
    model = row_models.put(home, recipe.name)
    return StoredModel(recipe.name, stored.tag, built, model.port, model.port + GRPC_PORT_OFFSET)
