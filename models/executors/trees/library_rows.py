"""Raw outputs of CatBoost models by the library itself: models with categorical columns, and losses without tables."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.artefact import ArtefactError
from models.executors.members import Members
from models.schema import Schema


class LibraryTrees:
    """Raw sums of CatBoost models in the library's own form; a ``MemberExecutor`` that several threads may call.

    The raw sums of a row are what the loss defines: a mean, mean and log standard deviation, quantiles, or logits.
    """

    def __init__(
        self, paths: Mapping[str, Sequence[Path | bytes]], schema: Schema, *, virtual: int = 0, threads: int = 1
    ) -> None:
        """
        Args:
            paths: head name to the files of its members, or their contents.
            virtual: number of virtual members that each file is cut into; 0 for none.
            threads: number of threads of the library's evaluator.

        Raises:
            ArtefactError: a file is damaged, or takes another number of columns than the schema has.
        """
        self.heads = tuple(paths)
        self._models = {name: [_opened(path, schema) for path in files] for name, files in paths.items()}
        self._virtual, self._threads = virtual, threads
        self._texts = {
            position: np.array([*feature.categories, *([OTHER] if feature.other else [])], object)
            for position, feature in enumerate(schema.features)
            if feature.categories
        }

    def __call__(self, rows: NDArray[np.float32]) -> Members:
        """Return the raw sums of each member for rows [n, F]: float32 {head: [M, n, K]}."""
        table = pool(rows, self._texts) if len(rows) else None
        return {name: self._outputs(models, table, len(rows)) for name, models in self._models.items()}

    def measure(self, rows: NDArray[np.float32]) -> None:
        """Warm up with rows [n, F]."""
        self(rows[:1])

    def _outputs(self, models: Sequence[Any], table: Any, count: int) -> NDArray[np.float32]:
        if table is None:
            width = np.shape(models[0].get_scale_and_bias()[1])
            return np.zeros((len(models) * (self._virtual or 1), 0, width[0] if width else 1), np.float32)
        parts = [self._raw(model, table, count) for model in models]
        return np.ascontiguousarray(np.concatenate(parts), np.float32)

    def _raw(self, model: Any, table: Any, count: int) -> NDArray[Any]:
        if not self._virtual:
            raw = model.predict(table, prediction_type="RawFormulaVal", thread_count=self._threads)
            return np.asarray(raw).reshape(1, count, -1)
        raw = model.virtual_ensembles_predict(
            table,
            prediction_type="VirtEnsembles",
            virtual_ensembles_count=self._virtual,
            thread_count=self._threads,
        )
        return np.asarray(raw).reshape(count, self._virtual, -1).transpose(1, 0, 2)


OTHER = "\x00other"
"""Text that stands for all texts which are no categories of a column: CatBoost has no statistics of it."""
MISSING = "nan"
"""Text of a missing category, as CatBoost writes missing values of data frames."""


def pool(rows: NDArray[np.float32], texts: Mapping[int, NDArray[Any]]) -> Any:
    """Return rows [n, F] as the library takes them, with codes as texts in the columns of ``texts``.

    Args:
        texts: position of a categorical column to the texts of its codes.
    """
    from catboost import Pool

    if not texts:
        return Pool(rows)
    table: NDArray[Any] = rows.astype(object)
    for position, known in texts.items():
        codes = rows[:, position]
        missing = np.isnan(codes)
        table[:, position] = np.where(missing, MISSING, known[np.where(missing, 0, codes).astype(np.intp)])
    return Pool(table, cat_features=list(texts))


def _opened(file: Path | bytes, schema: Schema) -> Any:
    from catboost import CatBoost, CatBoostError

    model = CatBoost()
    path = "model" if isinstance(file, bytes) else file
    try:
        model.load_model(blob=file) if isinstance(file, bytes) else model.load_model(str(file))
    except (CatBoostError, OSError) as error:
        raise ArtefactError(f"{path}: no readable CatBoost model: {str(error).strip()}") from error
    if len(model.feature_names_ or ()) != len(schema):
        raise ArtefactError(f"{path}: takes {len(model.feature_names_ or ())} features, the schema has {len(schema)}")
    return model
