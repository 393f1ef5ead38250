from demur.v1 import common_pb2 as _common_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class DigitsPredictRequest(_message.Message):
    __slots__ = ("images", "purpose", "defer_above", "plain")
    IMAGES_FIELD_NUMBER: _ClassVar[int]
    PURPOSE_FIELD_NUMBER: _ClassVar[int]
    DEFER_ABOVE_FIELD_NUMBER: _ClassVar[int]
    PLAIN_FIELD_NUMBER: _ClassVar[int]
    images: bytes
    purpose: _common_pb2.Purpose
    defer_above: float
    plain: bool
    def __init__(self, images: _Optional[bytes] = ..., purpose: _Optional[_Union[_common_pb2.Purpose, str]] = ..., defer_above: _Optional[float] = ..., plain: bool = ...) -> None: ...

class DigitsPredictResponse(_message.Message):
    __slots__ = ("model", "profile", "recorded", "answers")
    MODEL_FIELD_NUMBER: _ClassVar[int]
    PROFILE_FIELD_NUMBER: _ClassVar[int]
    RECORDED_FIELD_NUMBER: _ClassVar[int]
    ANSWERS_FIELD_NUMBER: _ClassVar[int]
    model: str
    profile: str
    recorded: bool
    answers: _containers.RepeatedCompositeFieldContainer[DigitAnswer]
    def __init__(self, model: _Optional[str] = ..., profile: _Optional[str] = ..., recorded: bool = ..., answers: _Optional[_Iterable[_Union[DigitAnswer, _Mapping]]] = ...) -> None: ...

class DigitAnswer(_message.Message):
    __slots__ = ("item", "digit", "probabilities", "total", "data", "knowledge", "deferral")
    ITEM_FIELD_NUMBER: _ClassVar[int]
    DIGIT_FIELD_NUMBER: _ClassVar[int]
    PROBABILITIES_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    KNOWLEDGE_FIELD_NUMBER: _ClassVar[int]
    DEFERRAL_FIELD_NUMBER: _ClassVar[int]
    item: int
    digit: int
    probabilities: _containers.RepeatedScalarFieldContainer[float]
    total: float
    data: float
    knowledge: float
    deferral: _common_pb2.Deferral
    def __init__(self, item: _Optional[int] = ..., digit: _Optional[int] = ..., probabilities: _Optional[_Iterable[float]] = ..., total: _Optional[float] = ..., data: _Optional[float] = ..., knowledge: _Optional[float] = ..., deferral: _Optional[_Union[_common_pb2.Deferral, _Mapping]] = ...) -> None: ...
