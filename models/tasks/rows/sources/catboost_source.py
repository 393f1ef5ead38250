"""CatBoost models as sources: columns, categories and meaning of the raw sums, from the file itself."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from models.tasks.rows.refusal import Refused
from models.tasks.rows.sources.source import Output

IN_GRAPHS = ("RMSE", "MAE", "Quantile", "Logloss", "CrossEntropy", "MultiClass")
"""Losses whose models CatBoost exports as graphs that answer what the model does."""


@dataclass(frozen=True)
class CatBoostSource:
    """A model of CatBoost."""

    path: Path
    """File of the model, for messages."""
    content: bytes
    """Model in CatBoost's binary form."""
    loss: str
    names: tuple[str, ...]
    texts: Sequence[int]
    outputs: tuple[Output, ...]
    width: int
    family: str = "catboost"
    categories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def as_graph(self) -> bool:
        """True if the model can be exported as a graph: numeric columns and a common loss."""
        return not self.texts and self.loss in IN_GRAPHS


def opened(path: Path) -> CatBoostSource:
    """Read what a model says of itself.

    Raises:
        Refused: no readable model, text or embedding columns, or a loss whose outputs have no meaning here.
    """
    from catboost import CatBoost, CatBoostError

    native = CatBoost()
    try:
        native.load_model(str(path), format="json" if path.suffix == ".json" else "cbm")
    except (CatBoostError, OSError) as error:
        raise Refused(f"{path}: no readable CatBoost model: {str(error).strip()}") from error
    for kind, places in (
        ("text", native.get_text_feature_indices()),
        ("embedding", native.get_embedding_feature_indices()),
    ):
        if len(places):
            name = native.feature_names_[places[0]]
            raise Refused(f"{path}: column {name} is a {kind} column; only numeric and categorical columns are served")
    metadata = {str(key): str(value) for key, value in native.get_metadata().items()}
    params = _object(metadata, "params")
    loss = (params.get("loss_function") or _object(metadata, "loss_function") or {}).get("type", "")
    names = tuple(native.feature_names_ or ())
    plain = list(names) == [str(number) for number in range(len(names))]
    return CatBoostSource(
        path=path,
        content=path.read_bytes() if path.suffix != ".json" else _saved(native, "cbm"),
        loss=loss,
        names=() if plain else names,
        texts=tuple(native.get_cat_feature_indices()),
        outputs=_outputs(path, native, loss, params, _object(metadata, "class_params")),
        width=len(names),
    )


def _outputs(
    path: Path, native: Any, loss: str, params: Mapping[str, Any], classes: Mapping[str, Any]
) -> tuple[Output, ...]:
    width = len(native.get_scale_and_bias()[1]) if hasattr(native.get_scale_and_bias()[1], "__len__") else 1
    if loss in ("RMSE", "MAE", "Quantile", "Huber", "LogCosh", "MAPE", "Lq", "Expectile"):
        return (Output("mean", 1),)
    if loss == "RMSEWithUncertainty":
        return (Output("mean_and_log_deviation", 2),)
    if loss == "MultiQuantile":
        text = str((params.get("loss_function") or {}).get("params", {}).get("alpha", ""))
        return (Output("quantiles", width, levels=tuple(float(level) for level in text.split(","))),)
    if loss in ("Logloss", "CrossEntropy", "MultiClass"):
        labels = tuple(_label(label) for label in classes.get("class_names") or classes.get("class_to_label") or ())
        count = 2 if width == 1 else width
        return (Output("logits", width, classes=labels if len(labels) == count else ()),)
    raise Refused(
        f"{path}: trained with loss {loss or 'unknown'}; served are RMSE, MAE, Quantile, RMSEWithUncertainty, "
        "MultiQuantile, Logloss, CrossEntropy and MultiClass; several targets need a model each (--model price=a.cbm)"
    )


def _label(label: Any) -> str:
    if isinstance(label, float) and label.is_integer():
        return str(int(label))
    return str(label)


def _object(metadata: Mapping[str, str], key: str) -> dict[str, Any]:
    try:
        value = json.loads(metadata.get(key) or "{}")
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def graph_of(source: CatBoostSource) -> bytes:
    """Return a model as an ONNX graph that ends in its raw sums or class probabilities."""
    from catboost import CatBoost

    native = CatBoost()
    native.load_model(blob=source.content)
    return _saved(native, "onnx")


def _saved(native: Any, form: str) -> bytes:
    with TemporaryDirectory() as folder:
        target = Path(folder) / "model"
        native.save_model(str(target), format=form)
        return target.read_bytes()
