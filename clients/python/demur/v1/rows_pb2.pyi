from demur.v1 import common_pb2 as _common_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class RowsPredictRequest(_message.Message):
    __slots__ = ("rows", "purpose", "defer_above", "members", "defer_above_by_head", "plain", "intervals", "known_intervals")
    class DeferAboveByHeadEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: float
        def __init__(self, key: _Optional[str] = ..., value: _Optional[float] = ...) -> None: ...
    ROWS_FIELD_NUMBER: _ClassVar[int]
    PURPOSE_FIELD_NUMBER: _ClassVar[int]
    DEFER_ABOVE_FIELD_NUMBER: _ClassVar[int]
    MEMBERS_FIELD_NUMBER: _ClassVar[int]
    DEFER_ABOVE_BY_HEAD_FIELD_NUMBER: _ClassVar[int]
    PLAIN_FIELD_NUMBER: _ClassVar[int]
    INTERVALS_FIELD_NUMBER: _ClassVar[int]
    KNOWN_INTERVALS_FIELD_NUMBER: _ClassVar[int]
    rows: _common_pb2.Rows
    purpose: _common_pb2.Purpose
    defer_above: float
    members: bool
    defer_above_by_head: _containers.ScalarMap[str, float]
    plain: bool
    intervals: bool
    known_intervals: int
    def __init__(self, rows: _Optional[_Union[_common_pb2.Rows, _Mapping]] = ..., purpose: _Optional[_Union[_common_pb2.Purpose, str]] = ..., defer_above: _Optional[float] = ..., members: bool = ..., defer_above_by_head: _Optional[_Mapping[str, float]] = ..., plain: bool = ..., intervals: bool = ..., known_intervals: _Optional[int] = ...) -> None: ...

class RowsPredictResponse(_message.Message):
    __slots__ = ("model", "recorded", "heads", "profile", "shifted_inputs")
    class HeadsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: RowsHead
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[RowsHead, _Mapping]] = ...) -> None: ...
    MODEL_FIELD_NUMBER: _ClassVar[int]
    RECORDED_FIELD_NUMBER: _ClassVar[int]
    HEADS_FIELD_NUMBER: _ClassVar[int]
    PROFILE_FIELD_NUMBER: _ClassVar[int]
    SHIFTED_INPUTS_FIELD_NUMBER: _ClassVar[int]
    model: str
    recorded: bool
    heads: _containers.MessageMap[str, RowsHead]
    profile: str
    shifted_inputs: _common_pb2.ShiftedInputs
    def __init__(self, model: _Optional[str] = ..., recorded: bool = ..., heads: _Optional[_Mapping[str, RowsHead]] = ..., profile: _Optional[str] = ..., shifted_inputs: _Optional[_Union[_common_pb2.ShiftedInputs, _Mapping]] = ...) -> None: ...

class RowsHead(_message.Message):
    __slots__ = ("gaussian", "categorical")
    GAUSSIAN_FIELD_NUMBER: _ClassVar[int]
    CATEGORICAL_FIELD_NUMBER: _ClassVar[int]
    gaussian: _common_pb2.GaussianHead
    categorical: _common_pb2.CategoricalHead
    def __init__(self, gaussian: _Optional[_Union[_common_pb2.GaussianHead, _Mapping]] = ..., categorical: _Optional[_Union[_common_pb2.CategoricalHead, _Mapping]] = ...) -> None: ...

class RowsStreamRequest(_message.Message):
    __slots__ = ("begin", "chunk")
    BEGIN_FIELD_NUMBER: _ClassVar[int]
    CHUNK_FIELD_NUMBER: _ClassVar[int]
    begin: _common_pb2.StreamBegin
    chunk: RowsChunk
    def __init__(self, begin: _Optional[_Union[_common_pb2.StreamBegin, _Mapping]] = ..., chunk: _Optional[_Union[RowsChunk, _Mapping]] = ...) -> None: ...

class RowsChunk(_message.Message):
    __slots__ = ("sequence", "rows")
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    sequence: int
    rows: _common_pb2.Rows
    def __init__(self, sequence: _Optional[int] = ..., rows: _Optional[_Union[_common_pb2.Rows, _Mapping]] = ...) -> None: ...

class RowsStreamResponse(_message.Message):
    __slots__ = ("accepted", "result", "progress", "error")
    ACCEPTED_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    accepted: _common_pb2.StreamAccepted
    result: RowsChunkResult
    progress: _common_pb2.StreamProgress
    error: _common_pb2.ItemError
    def __init__(self, accepted: _Optional[_Union[_common_pb2.StreamAccepted, _Mapping]] = ..., result: _Optional[_Union[RowsChunkResult, _Mapping]] = ..., progress: _Optional[_Union[_common_pb2.StreamProgress, _Mapping]] = ..., error: _Optional[_Union[_common_pb2.ItemError, _Mapping]] = ...) -> None: ...

class RowsChunkResult(_message.Message):
    __slots__ = ("sequence", "answer")
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    sequence: int
    answer: RowsPredictResponse
    def __init__(self, sequence: _Optional[int] = ..., answer: _Optional[_Union[RowsPredictResponse, _Mapping]] = ...) -> None: ...
