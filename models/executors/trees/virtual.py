"""Virtual ensembles: one boosted model cut into members that share their first trees (Malinin et al. 2021)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.artefact import ArtefactError
from models.executors.trees.model import TreeModel


@dataclass(frozen=True, eq=False)
class Cut:
    """Division of one model's trees into members."""

    ends: tuple[int, ...]
    """Tree after which each piece ends, ascending; the last is the number of trees. Piece 0 starts at tree 0."""
    weights: NDArray[np.float64]
    """Weight of the sum over all pieces up to each of the last V ones, one per member [V]."""

    def members(self, pieces: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the raw sums of the members [V, n, D] from those of the pieces [S, n, D]; the bias is in piece 0."""
        if len(pieces) == 1:
            return pieces
        return pieces.cumsum(axis=0)[-len(self.weights) :] * self.weights[:, None, None]


def cut(model: TreeModel, virtual: int) -> Cut:
    """Cut a model as CatBoost 1.2.10's ``virtual_ensembles_predict`` does.

    With T trees, V members and a period of P = T // 2V trees, member v = 1 .. V is the model truncated after tree T -
    (V - v) P, so the last one is the whole model. Langevin boosting shrinks the earlier trees by (1 - s) an iteration,
    s the shrink rate times the learning rate; this is undone by (1 - s)^(-(V - v) P). The library uses this s for the
    shrink mode ``Decreasing``, too.

    Its prediction type ``VirtEnsembles`` returns mean and *variance* (exp(2 x raw), not its logarithm) for
    RMSEWithUncertainty, raw logits of the classes seen for MultiClass.

    Args:
        virtual: number of members, V; 0 leaves the model whole.

    Raises:
        ArtefactError: too few trees, or a model that does not record how it was shrunk (sums of models do not).
    """
    if not virtual:
        return Cut((model.trees,), np.ones(1))
    period = model.trees // (2 * virtual)
    if virtual < 0 or period < 1:
        raise ArtefactError(
            f"{model.path}: {model.trees} trees cannot be cut into {virtual} virtual members; at least "
            f"{2 * abs(virtual)} are needed"
        )
    if model.shrinkage is None:
        raise ArtefactError(f"{model.path}: tells no training parameters, so it cannot be cut into virtual members")
    later = np.arange(virtual - 1, -1, -1) * period
    first = model.trees - virtual * period
    ends = tuple(int(end) for end in (first, *(model.trees - later)))
    return Cut(ends, (1.0 - model.shrinkage) ** -later.astype(np.float64))
