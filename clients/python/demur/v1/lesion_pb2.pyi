from demur.v1 import common_pb2 as _common_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class LesionMap(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    LESION_MAP_UNSPECIFIED: _ClassVar[LesionMap]
    LESION_MAP_MASK: _ClassVar[LesionMap]
    LESION_MAP_PROBABILITY: _ClassVar[LesionMap]
    LESION_MAP_TOTAL: _ClassVar[LesionMap]
    LESION_MAP_DATA: _ClassVar[LesionMap]
    LESION_MAP_KNOWLEDGE: _ClassVar[LesionMap]
    LESION_MAP_RMI: _ClassVar[LesionMap]
    LESION_MAP_ADVICE: _ClassVar[LesionMap]

class LesionEncoding(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    LESION_ENCODING_UNSPECIFIED: _ClassVar[LesionEncoding]
    LESION_ENCODING_FLOAT32: _ClassVar[LesionEncoding]
    LESION_ENCODING_UINT8: _ClassVar[LesionEncoding]

class LesionInput(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    LESION_INPUT_UNSPECIFIED: _ClassVar[LesionInput]
    LESION_INPUT_FLAIR: _ClassVar[LesionInput]
    LESION_INPUT_T1: _ClassVar[LesionInput]
    LESION_INPUT_BRAIN_MASK: _ClassVar[LesionInput]
LESION_MAP_UNSPECIFIED: LesionMap
LESION_MAP_MASK: LesionMap
LESION_MAP_PROBABILITY: LesionMap
LESION_MAP_TOTAL: LesionMap
LESION_MAP_DATA: LesionMap
LESION_MAP_KNOWLEDGE: LesionMap
LESION_MAP_RMI: LesionMap
LESION_MAP_ADVICE: LesionMap
LESION_ENCODING_UNSPECIFIED: LesionEncoding
LESION_ENCODING_FLOAT32: LesionEncoding
LESION_ENCODING_UINT8: LesionEncoding
LESION_INPUT_UNSPECIFIED: LesionInput
LESION_INPUT_FLAIR: LesionInput
LESION_INPUT_T1: LesionInput
LESION_INPUT_BRAIN_MASK: LesionInput

class LesionPredictRequest(_message.Message):
    __slots__ = ("flair", "t1", "brain_mask", "purpose", "defer_above", "maps", "name", "plain", "encoding")
    FLAIR_FIELD_NUMBER: _ClassVar[int]
    T1_FIELD_NUMBER: _ClassVar[int]
    BRAIN_MASK_FIELD_NUMBER: _ClassVar[int]
    PURPOSE_FIELD_NUMBER: _ClassVar[int]
    DEFER_ABOVE_FIELD_NUMBER: _ClassVar[int]
    MAPS_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    PLAIN_FIELD_NUMBER: _ClassVar[int]
    ENCODING_FIELD_NUMBER: _ClassVar[int]
    flair: bytes
    t1: bytes
    brain_mask: bytes
    purpose: _common_pb2.Purpose
    defer_above: float
    maps: _containers.RepeatedScalarFieldContainer[LesionMap]
    name: str
    plain: bool
    encoding: LesionEncoding
    def __init__(self, flair: _Optional[bytes] = ..., t1: _Optional[bytes] = ..., brain_mask: _Optional[bytes] = ..., purpose: _Optional[_Union[_common_pb2.Purpose, str]] = ..., defer_above: _Optional[float] = ..., maps: _Optional[_Iterable[_Union[LesionMap, str]]] = ..., name: _Optional[str] = ..., plain: bool = ..., encoding: _Optional[_Union[LesionEncoding, str]] = ...) -> None: ...

class LesionPredictResponse(_message.Message):
    __slots__ = ("model", "recorded", "name", "answer", "files", "profile")
    MODEL_FIELD_NUMBER: _ClassVar[int]
    RECORDED_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    FILES_FIELD_NUMBER: _ClassVar[int]
    PROFILE_FIELD_NUMBER: _ClassVar[int]
    model: str
    recorded: bool
    name: str
    answer: LesionAnswer
    files: _containers.RepeatedCompositeFieldContainer[LesionFile]
    profile: str
    def __init__(self, model: _Optional[str] = ..., recorded: bool = ..., name: _Optional[str] = ..., answer: _Optional[_Union[LesionAnswer, _Mapping]] = ..., files: _Optional[_Iterable[_Union[LesionFile, _Mapping]]] = ..., profile: _Optional[str] = ...) -> None: ...

class LesionFile(_message.Message):
    __slots__ = ("map", "content")
    MAP_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    map: LesionMap
    content: bytes
    def __init__(self, map: _Optional[_Union[LesionMap, str]] = ..., content: _Optional[bytes] = ...) -> None: ...

class LesionAnswer(_message.Message):
    __slots__ = ("deferral", "count", "count_interval", "volume_mm3", "volume_interval", "total", "data", "knowledge", "rmi", "structural", "lesions", "remarks", "brain_ml", "resampled", "look_at_voxels")
    DEFERRAL_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    COUNT_INTERVAL_FIELD_NUMBER: _ClassVar[int]
    VOLUME_MM3_FIELD_NUMBER: _ClassVar[int]
    VOLUME_INTERVAL_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    KNOWLEDGE_FIELD_NUMBER: _ClassVar[int]
    RMI_FIELD_NUMBER: _ClassVar[int]
    STRUCTURAL_FIELD_NUMBER: _ClassVar[int]
    LESIONS_FIELD_NUMBER: _ClassVar[int]
    REMARKS_FIELD_NUMBER: _ClassVar[int]
    BRAIN_ML_FIELD_NUMBER: _ClassVar[int]
    RESAMPLED_FIELD_NUMBER: _ClassVar[int]
    LOOK_AT_VOXELS_FIELD_NUMBER: _ClassVar[int]
    deferral: _common_pb2.Deferral
    count: int
    count_interval: Interval
    volume_mm3: float
    volume_interval: Interval
    total: float
    data: float
    knowledge: float
    rmi: float
    structural: float
    lesions: _containers.RepeatedCompositeFieldContainer[Lesion]
    remarks: _containers.RepeatedCompositeFieldContainer[Remark]
    brain_ml: float
    resampled: bool
    look_at_voxels: float
    def __init__(self, deferral: _Optional[_Union[_common_pb2.Deferral, _Mapping]] = ..., count: _Optional[int] = ..., count_interval: _Optional[_Union[Interval, _Mapping]] = ..., volume_mm3: _Optional[float] = ..., volume_interval: _Optional[_Union[Interval, _Mapping]] = ..., total: _Optional[float] = ..., data: _Optional[float] = ..., knowledge: _Optional[float] = ..., rmi: _Optional[float] = ..., structural: _Optional[float] = ..., lesions: _Optional[_Iterable[_Union[Lesion, _Mapping]]] = ..., remarks: _Optional[_Iterable[_Union[Remark, _Mapping]]] = ..., brain_ml: _Optional[float] = ..., resampled: bool = ..., look_at_voxels: _Optional[float] = ...) -> None: ...

class Interval(_message.Message):
    __slots__ = ("level", "lower", "upper")
    LEVEL_FIELD_NUMBER: _ClassVar[int]
    LOWER_FIELD_NUMBER: _ClassVar[int]
    UPPER_FIELD_NUMBER: _ClassVar[int]
    level: float
    lower: float
    upper: float
    def __init__(self, level: _Optional[float] = ..., lower: _Optional[float] = ..., upper: _Optional[float] = ...) -> None: ...

class Lesion(_message.Message):
    __slots__ = ("volume_mm3", "centroid_mm", "mean_probability", "structural_uncertainty", "look_at", "label")
    VOLUME_MM3_FIELD_NUMBER: _ClassVar[int]
    CENTROID_MM_FIELD_NUMBER: _ClassVar[int]
    MEAN_PROBABILITY_FIELD_NUMBER: _ClassVar[int]
    STRUCTURAL_UNCERTAINTY_FIELD_NUMBER: _ClassVar[int]
    LOOK_AT_FIELD_NUMBER: _ClassVar[int]
    LABEL_FIELD_NUMBER: _ClassVar[int]
    volume_mm3: float
    centroid_mm: _containers.RepeatedScalarFieldContainer[float]
    mean_probability: float
    structural_uncertainty: float
    look_at: bool
    label: int
    def __init__(self, volume_mm3: _Optional[float] = ..., centroid_mm: _Optional[_Iterable[float]] = ..., mean_probability: _Optional[float] = ..., structural_uncertainty: _Optional[float] = ..., look_at: bool = ..., label: _Optional[int] = ...) -> None: ...

class Remark(_message.Message):
    __slots__ = ("code", "message", "value", "unit", "lower", "upper")
    CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    UNIT_FIELD_NUMBER: _ClassVar[int]
    LOWER_FIELD_NUMBER: _ClassVar[int]
    UPPER_FIELD_NUMBER: _ClassVar[int]
    code: str
    message: str
    value: float
    unit: str
    lower: float
    upper: float
    def __init__(self, code: _Optional[str] = ..., message: _Optional[str] = ..., value: _Optional[float] = ..., unit: _Optional[str] = ..., lower: _Optional[float] = ..., upper: _Optional[float] = ...) -> None: ...

class LesionStreamRequest(_message.Message):
    __slots__ = ("begin", "scan", "piece", "end")
    BEGIN_FIELD_NUMBER: _ClassVar[int]
    SCAN_FIELD_NUMBER: _ClassVar[int]
    PIECE_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    begin: _common_pb2.StreamBegin
    scan: LesionScan
    piece: LesionPiece
    end: LesionScanEnd
    def __init__(self, begin: _Optional[_Union[_common_pb2.StreamBegin, _Mapping]] = ..., scan: _Optional[_Union[LesionScan, _Mapping]] = ..., piece: _Optional[_Union[LesionPiece, _Mapping]] = ..., end: _Optional[_Union[LesionScanEnd, _Mapping]] = ...) -> None: ...

class LesionScan(_message.Message):
    __slots__ = ("sequence", "name", "maps", "encoding")
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    MAPS_FIELD_NUMBER: _ClassVar[int]
    ENCODING_FIELD_NUMBER: _ClassVar[int]
    sequence: int
    name: str
    maps: _containers.RepeatedScalarFieldContainer[LesionMap]
    encoding: LesionEncoding
    def __init__(self, sequence: _Optional[int] = ..., name: _Optional[str] = ..., maps: _Optional[_Iterable[_Union[LesionMap, str]]] = ..., encoding: _Optional[_Union[LesionEncoding, str]] = ...) -> None: ...

class LesionPiece(_message.Message):
    __slots__ = ("input", "content")
    INPUT_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    input: LesionInput
    content: bytes
    def __init__(self, input: _Optional[_Union[LesionInput, str]] = ..., content: _Optional[bytes] = ...) -> None: ...

class LesionScanEnd(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class LesionStreamResponse(_message.Message):
    __slots__ = ("accepted", "result", "progress", "error", "piece")
    ACCEPTED_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    PIECE_FIELD_NUMBER: _ClassVar[int]
    accepted: _common_pb2.StreamAccepted
    result: LesionResult
    progress: _common_pb2.StreamProgress
    error: _common_pb2.ItemError
    piece: LesionResultPiece
    def __init__(self, accepted: _Optional[_Union[_common_pb2.StreamAccepted, _Mapping]] = ..., result: _Optional[_Union[LesionResult, _Mapping]] = ..., progress: _Optional[_Union[_common_pb2.StreamProgress, _Mapping]] = ..., error: _Optional[_Union[_common_pb2.ItemError, _Mapping]] = ..., piece: _Optional[_Union[LesionResultPiece, _Mapping]] = ...) -> None: ...

class LesionResultPiece(_message.Message):
    __slots__ = ("sequence", "map", "content")
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    MAP_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    sequence: int
    map: LesionMap
    content: bytes
    def __init__(self, sequence: _Optional[int] = ..., map: _Optional[_Union[LesionMap, str]] = ..., content: _Optional[bytes] = ...) -> None: ...

class LesionResult(_message.Message):
    __slots__ = ("sequence", "answer")
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    sequence: int
    answer: LesionPredictResponse
    def __init__(self, sequence: _Optional[int] = ..., answer: _Optional[_Union[LesionPredictResponse, _Mapping]] = ...) -> None: ...
