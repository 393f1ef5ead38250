"""A trained weather ensemble before it becomes an artefact: files and executors."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, get_args

from models.manifest import Executor

Family = Literal["catboost", "catboost_virtual", "ft_transformer", "ft_mcdp", "combined"]
FAMILIES: tuple[str, ...] = get_args(Family)
VIRTUAL = 10
"""Number of virtual members of a boosted model, and of frozen masks of a network, as in the papers' ensembles."""


@dataclass(frozen=True)
class Ensemble:
    """Members of one family, as files."""

    family: str
    members: int
    executors: tuple[Executor, ...]
    files: Mapping[str, bytes | Path]
    """Content or path of each file, by name."""
    seeds: tuple[int, ...]
    training: Mapping[str, float | int | str]
    samples: int = 1
    """Frozen masks, or virtual members, of each member."""
    sample_seed: int | None = None

    @property
    def several(self) -> bool:
        """True if knowledge uncertainty exists."""
        return self.members * self.samples > 1


def join(first: Ensemble, second: Ensemble) -> Ensemble:
    """Join the members of two ensembles (Shifts 1.0, C.5: CatBoost and FT-Transformer together).

    Raises:
        ValueError: both have a file of the same name.
    """
    if doubled := first.files.keys() & second.files.keys():
        raise ValueError(f"both ensembles have the files {sorted(doubled)}")
    training = {
        f"{ensemble.family}.{name}": value for ensemble in (first, second) for name, value in ensemble.training.items()
    }
    return replace(
        first,
        family="combined",
        members=first.members * first.samples + second.members * second.samples,
        executors=(*first.executors, *second.executors),
        files={**first.files, **second.files},
        seeds=(*first.seeds, *second.seeds),
        training=training,
        samples=1,
        sample_seed=first.sample_seed if second.sample_seed is None else second.sample_seed,
    )
