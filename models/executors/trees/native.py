"""Executor of members with CatBoost's own evaluator: for any model, and quick for many rows."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from models.executors.members import Members
from models.executors.trees.link import linked
from models.executors.trees.model import TreeModel
from models.executors.trees.virtual import Cut, cut


class NativeTrees:
    """Members of one or several heads, evaluated model by model. Missing values are treated as in each model's training
    (``nan_mode`` Min: below every border, Max: above; Forbidden, and columns complete in training: below).

    Raises:
        ArtefactError: a model cannot be cut into this number of virtual members.
    """

    def __init__(self, models: Mapping[str, Sequence[TreeModel]], *, threads: int = 1, virtual: int = 0) -> None:
        """
        Args:
            threads: threads of one call. More than one is faster only for thousands of rows; the library would use all
                cores.
            virtual: number of members that each model is cut into; 0 for none.
        """
        self.heads = tuple(models)
        self._threads = threads
        self._models = {head: [(model, cut(model, virtual)) for model in some] for head, some in models.items()}

    def __call__(self, rows: NDArray[np.float32]) -> Members:
        """Return the outputs of each member for rows [n, F]."""
        if not len(rows):
            return {head: _nothing(some) for head, some in self._models.items()}
        pool = pooled(rows, self._threads)
        return {
            head: np.concatenate([self._outputs(*pair, pool) for pair in some]) for head, some in self._models.items()
        }

    def _outputs(self, model: TreeModel, how: Cut, pool: object) -> NDArray[np.float32]:
        return linked(model, how.members(raw_pieces(model, how, pool, self._threads)))


def pooled(rows: NDArray[np.float32], threads: int = 1) -> object:
    """Return rows in the library's form. Column-major rows are not copied, and one Pool serves all models."""
    from catboost import Pool

    return Pool(np.asfortranarray(rows, np.float32), thread_count=threads)


def raw_pieces(model: TreeModel, how: Cut, pool: object, threads: int = 1) -> NDArray[np.float64]:
    """Return the raw sums of each piece of a model, [S, n, D]."""
    pieces = []
    start = 0
    for end in how.ends:
        raw = model.native.predict(
            pool, prediction_type="RawFormulaVal", ntree_start=start, ntree_end=end, thread_count=threads
        )
        pieces.append(raw if raw.shape[1] == model.dimension else raw[:, model.classes])  # without classes never seen
        start = end
    return np.stack(pieces)


def _nothing(models: Sequence[tuple[TreeModel, Cut]]) -> NDArray[np.float32]:
    members = sum(len(how.weights) for _, how in models)
    return np.empty((members, 0, models[0][0].head.classes or 2), np.float32)
