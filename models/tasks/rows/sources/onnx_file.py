"""Trained models as ONNX graphs: what a graph takes, and its nodes without what only clients need."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, inliner, version_converter

from models.executors.graph import OPSET, Graph, Value
from models.schema import Schema
from models.tasks.rows.refusal import Refused

_NUMBERS = {
    TensorProto.FLOAT: np.float32,
    TensorProto.DOUBLE: np.float64,
    TensorProto.INT64: np.int64,
    TensorProto.INT32: np.int32,
    TensorProto.BOOL: np.bool_,
}
_DOMAINS = {"", "ai.onnx", "ai.onnx.ml"}
MISSING_TEXT = ""
"""Text of a missing category for models that take texts."""
OTHER_TEXT = "\x00other"
"""Text that stands for all texts which are no categories of a column."""


@dataclass(frozen=True)
class Input:
    """Input of a graph: consecutive columns of one type."""

    name: str
    kind: int
    """Type of ``onnx.TensorProto``."""
    width: int
    """Number of columns; 0 for any."""
    rank: int
    """1 for a column without an axis of columns, else 2."""

    @property
    def text(self) -> bool:
        """True if the columns are texts."""
        return bool(self.kind == TensorProto.STRING)


@dataclass(frozen=True)
class OnnxFile:
    """Checked graph of a trained model."""

    name: str
    """File, for messages."""
    model: Any
    """``onnx.ModelProto`` without functions and without ``ZipMap``."""
    inputs: tuple[Input, ...]
    outputs: tuple[str, ...]
    classes: tuple[str, ...]
    """Labels of classes that operators of the graph declare; empty without any."""
    labels: tuple[str, ...]
    """Names of the outputs that are labels of the most probable class."""

    @property
    def width(self) -> int:
        """Number of columns; 0 for any."""
        return 0 if any(part.width == 0 for part in self.inputs) else sum(part.width for part in self.inputs)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns, if each is an input of its own."""
        single = len(self.inputs) > 1 and all(part.width == 1 for part in self.inputs)
        return tuple(part.name for part in self.inputs) if single else ()

    @property
    def texts(self) -> tuple[int, ...]:
        """Positions of the columns that are texts."""
        kinds = [part.text for part in self.inputs for _ in range(part.width or 1)]
        return tuple(position for position, text in enumerate(kinds) if text)

    @property
    def trees(self) -> bool:
        """True if the graph has operators of classical models, which run on a CPU only."""
        return any(node.domain == "ai.onnx.ml" for node in self.model.graph.node)

    def values(self, graph: Graph, rows: Value, schema: Schema) -> dict[str, Value]:
        """Add the nodes to a graph; return the outputs by name.

        Args:
            rows: rows [N, F], categorical columns as codes.
        """
        inputs = {}
        for part, first in self._places():
            width = part.width or len(schema)
            columns = rows if width == len(schema) else graph.op("Slice", rows, [first], [first + width], [1])
            if part.text:
                texts = [_texts(graph, graph.column(columns, at), schema, first + at) for at in range(width)]
                columns = texts[0] if width == 1 else graph.op("Concat", *texts, axis=1)
            elif part.kind != TensorProto.FLOAT:
                columns = graph.op("Cast", columns, to=part.kind)
            inputs[part.name] = graph.op("Squeeze", columns, [1]) if part.rank == 1 else columns
        return graph.embed(_copied(self.model), inputs)

    def fed(self, rows: NDArray[np.float32], schema: Schema) -> dict[str, NDArray[Any]]:
        """Return the inputs for rows [n, F], categorical columns as codes."""
        inputs: dict[str, NDArray[Any]] = {}
        for part, first in self._places():
            columns = rows[:, first : first + (part.width or len(schema))]
            if part.text:
                array: NDArray[Any] = np.empty(columns.shape, object)
                for at in range(columns.shape[1]):
                    known = np.array(texts_of(schema, first + at), object)
                    array[:, at] = known[code_places(columns[:, at], len(known))]
            else:
                array = columns.astype(_NUMBERS[part.kind])
            inputs[part.name] = array[:, 0] if part.rank == 1 else array
        return inputs

    def _places(self) -> Iterator[tuple[Input, int]]:
        first = 0
        for part in self.inputs:
            yield part, first
            first += part.width


def texts_of(schema: Schema, position: int) -> list[str]:
    """Return the texts of a categorical column's codes, then of other texts and of a missing value."""
    return [*schema.features[position].categories, OTHER_TEXT, MISSING_TEXT]


def code_places(codes: NDArray[np.float32], texts: int) -> NDArray[np.intp]:
    """Return the place of each code [n] in ``texts_of``; a missing value is last."""
    return np.where(np.isnan(codes), texts - 1, np.nan_to_num(codes)).astype(np.intp)


def _texts(graph: Graph, column: Value, schema: Schema, position: int) -> Value:
    texts = texts_of(schema, position)
    places = graph.op("Where", graph.op("IsNaN", column), float(len(texts) - 1), column)
    return graph.op("Gather", graph.texts(texts), graph.op("Cast", places, to=TensorProto.INT64))


def opened(content: bytes, name: str) -> OnnxFile:
    """Read and check a graph.

    Raises:
        Refused: no ONNX graph, weights outside the file, unknown operators, no batch of any size, or inputs and outputs
            of other kinds.
    """
    try:
        model = onnx.load_model_from_string(content)
    except Exception as error:  # the parser's own error types differ between versions
        raise Refused(f"{name}: is no ONNX model: {error}") from error
    if any(tensor.data_location == TensorProto.EXTERNAL for tensor in model.graph.initializer):
        raise Refused(f"{name}: has weights outside the file; save it as one file (save_as_external_data=False)")
    if len(model.functions):
        model = inliner.inline_local_functions(model)
    if foreign := sorted({node.domain for node in model.graph.node} - _DOMAINS):
        operator = next(node.op_type for node in model.graph.node if node.domain == foreign[0])
        raise Refused(
            f"{name}: operator {operator} of {foreign[0]!r} is unknown here; export the model with operators of ONNX "
            "and ai.onnx.ml only"
        )
    classes = _without_zip_maps(model, name)
    model = _with_newer_operators(model, name)
    try:
        onnx.checker.check_model(model)
    except onnx.checker.ValidationError as error:
        raise Refused(f"{name}: is no valid ONNX model: {str(error).splitlines()[0]}") from error
    constants = {tensor.name for tensor in model.graph.initializer}
    inputs = tuple(_input(value, name) for value in model.graph.input if value.name not in constants)
    outputs = tuple(output.name for output in model.graph.output)
    labels = tuple(
        output.name
        for output in model.graph.output
        if output.type.tensor_type.elem_type in (TensorProto.INT64, TensorProto.STRING) and len(outputs) > 1
    )
    return OnnxFile(name, model, inputs, outputs, classes, labels)


def _input(value: Any, name: str) -> Input:
    kind, shape = value.type.tensor_type.elem_type, value.type.tensor_type.shape.dim
    if kind not in (*_NUMBERS, TensorProto.STRING) or len(shape) not in (1, 2):
        raise Refused(
            f"{name}: input {value.name} must be a table [rows, columns] of numbers or texts; got "
            f"{helper.tensor_dtype_to_string(kind).removeprefix('TensorProto.') if kind else 'no tensor'} with "
            f"{len(shape)} axes"
        )
    if shape[0].dim_value:
        raise Refused(
            f"{name}: input {value.name} takes exactly {shape[0].dim_value} row(s); export the model with a batch of "
            "any "
            "size (torch.onnx.export: dynamic_axes or dynamic_shapes; skl2onnx: FloatTensorType([None, F]))"
        )
    width = 1 if len(shape) == 1 else shape[1].dim_value
    return Input(value.name, kind, width, len(shape))


def _without_zip_maps(model: Any, name: str) -> tuple[str, ...]:
    """Replace outputs that are lists of mappings by their tensors; return the labels of the classes."""
    classes: tuple[str, ...] = ()
    nodes = list(model.graph.node)
    for node in nodes:
        for attribute in node.attribute:
            if attribute.name in ("classlabels_strings", "classlabels_int64s", "classlabels_ints"):
                classes = classes or tuple(
                    [text.decode() for text in attribute.strings] or [str(number) for number in attribute.ints]
                )
        if node.op_type != "ZipMap":
            continue
        for output in model.graph.output:
            if output.name == node.output[0]:
                output.CopyFrom(helper.make_tensor_value_info(node.input[0], TensorProto.FLOAT, [None, None]))
        model.graph.node.remove(node)
    if foreign := [output.name for output in model.graph.output if not output.type.HasField("tensor_type")]:
        raise Refused(f"{name}: output {foreign[0]} is no tensor; export tensors only")
    return classes


def _with_newer_operators(model: Any, name: str) -> Any:
    version = next((opset.version for opset in model.opset_import if opset.domain in ("", "ai.onnx")), OPSET)
    if version >= OPSET:
        return model
    try:
        return version_converter.convert_version(model, OPSET)
    except Exception as error:  # converters of single operators raise what they like
        raise Refused(
            f"{name}: operators of opset {version} cannot be converted to {OPSET} ({error}); export it with opset "
            f"{OPSET}"
        ) from error


def _copied(model: Any) -> Any:
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    return copy
