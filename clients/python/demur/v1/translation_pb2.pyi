from demur.v1 import common_pb2 as _common_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class TranslationDetail(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TRANSLATION_DETAIL_UNSPECIFIED: _ClassVar[TranslationDetail]
    TRANSLATION_DETAIL_NONE: _ClassVar[TranslationDetail]
    TRANSLATION_DETAIL_BEST: _ClassVar[TranslationDetail]
    TRANSLATION_DETAIL_ALL: _ClassVar[TranslationDetail]
TRANSLATION_DETAIL_UNSPECIFIED: TranslationDetail
TRANSLATION_DETAIL_NONE: TranslationDetail
TRANSLATION_DETAIL_BEST: TranslationDetail
TRANSLATION_DETAIL_ALL: TranslationDetail

class TranslationPredictRequest(_message.Message):
    __slots__ = ("texts", "purpose", "defer_above", "tokens", "plain")
    TEXTS_FIELD_NUMBER: _ClassVar[int]
    PURPOSE_FIELD_NUMBER: _ClassVar[int]
    DEFER_ABOVE_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    PLAIN_FIELD_NUMBER: _ClassVar[int]
    texts: _containers.RepeatedScalarFieldContainer[str]
    purpose: _common_pb2.Purpose
    defer_above: float
    tokens: TranslationDetail
    plain: bool
    def __init__(self, texts: _Optional[_Iterable[str]] = ..., purpose: _Optional[_Union[_common_pb2.Purpose, str]] = ..., defer_above: _Optional[float] = ..., tokens: _Optional[_Union[TranslationDetail, str]] = ..., plain: bool = ...) -> None: ...

class TranslationPredictResponse(_message.Message):
    __slots__ = ("model", "texts", "sentences", "failures", "scores", "profile")
    MODEL_FIELD_NUMBER: _ClassVar[int]
    TEXTS_FIELD_NUMBER: _ClassVar[int]
    SENTENCES_FIELD_NUMBER: _ClassVar[int]
    FAILURES_FIELD_NUMBER: _ClassVar[int]
    SCORES_FIELD_NUMBER: _ClassVar[int]
    PROFILE_FIELD_NUMBER: _ClassVar[int]
    model: str
    texts: _containers.RepeatedCompositeFieldContainer[TranslatedText]
    sentences: _containers.RepeatedCompositeFieldContainer[TranslatedSentence]
    failures: _containers.RepeatedCompositeFieldContainer[TranslationFailure]
    scores: _containers.RepeatedScalarFieldContainer[str]
    profile: str
    def __init__(self, model: _Optional[str] = ..., texts: _Optional[_Iterable[_Union[TranslatedText, _Mapping]]] = ..., sentences: _Optional[_Iterable[_Union[TranslatedSentence, _Mapping]]] = ..., failures: _Optional[_Iterable[_Union[TranslationFailure, _Mapping]]] = ..., scores: _Optional[_Iterable[str]] = ..., profile: _Optional[str] = ...) -> None: ...

class TranslatedText(_message.Message):
    __slots__ = ("translation", "first", "sentences")
    TRANSLATION_FIELD_NUMBER: _ClassVar[int]
    FIRST_FIELD_NUMBER: _ClassVar[int]
    SENTENCES_FIELD_NUMBER: _ClassVar[int]
    translation: str
    first: int
    sentences: int
    def __init__(self, translation: _Optional[str] = ..., first: _Optional[int] = ..., sentences: _Optional[int] = ...) -> None: ...

class TranslatedSentence(_message.Message):
    __slots__ = ("item", "text", "source_start", "source_stop", "start", "stop", "hypotheses", "deferral", "recorded", "remarks")
    ITEM_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    SOURCE_START_FIELD_NUMBER: _ClassVar[int]
    SOURCE_STOP_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    STOP_FIELD_NUMBER: _ClassVar[int]
    HYPOTHESES_FIELD_NUMBER: _ClassVar[int]
    DEFERRAL_FIELD_NUMBER: _ClassVar[int]
    RECORDED_FIELD_NUMBER: _ClassVar[int]
    REMARKS_FIELD_NUMBER: _ClassVar[int]
    item: int
    text: int
    source_start: int
    source_stop: int
    start: int
    stop: int
    hypotheses: _containers.RepeatedCompositeFieldContainer[TranslationHypothesis]
    deferral: _common_pb2.Deferral
    recorded: bool
    remarks: _containers.RepeatedCompositeFieldContainer[TranslationRemark]
    def __init__(self, item: _Optional[int] = ..., text: _Optional[int] = ..., source_start: _Optional[int] = ..., source_stop: _Optional[int] = ..., start: _Optional[int] = ..., stop: _Optional[int] = ..., hypotheses: _Optional[_Iterable[_Union[TranslationHypothesis, _Mapping]]] = ..., deferral: _Optional[_Union[_common_pb2.Deferral, _Mapping]] = ..., recorded: bool = ..., remarks: _Optional[_Iterable[_Union[TranslationRemark, _Mapping]]] = ...) -> None: ...

class TranslationHypothesis(_message.Message):
    __slots__ = ("text", "score", "confidence", "scores", "tokens", "plain_scores")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    SCORES_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    PLAIN_SCORES_FIELD_NUMBER: _ClassVar[int]
    text: str
    score: float
    confidence: float
    scores: bytes
    tokens: TranslationTokens
    plain_scores: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, text: _Optional[str] = ..., score: _Optional[float] = ..., confidence: _Optional[float] = ..., scores: _Optional[bytes] = ..., tokens: _Optional[_Union[TranslationTokens, _Mapping]] = ..., plain_scores: _Optional[_Iterable[float]] = ...) -> None: ...

class TranslationTokens(_message.Message):
    __slots__ = ("starts", "stops", "log_probabilities", "total", "data", "knowledge", "plain_starts", "plain_stops", "plain_log_probabilities", "plain_total", "plain_data", "plain_knowledge")
    STARTS_FIELD_NUMBER: _ClassVar[int]
    STOPS_FIELD_NUMBER: _ClassVar[int]
    LOG_PROBABILITIES_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    KNOWLEDGE_FIELD_NUMBER: _ClassVar[int]
    PLAIN_STARTS_FIELD_NUMBER: _ClassVar[int]
    PLAIN_STOPS_FIELD_NUMBER: _ClassVar[int]
    PLAIN_LOG_PROBABILITIES_FIELD_NUMBER: _ClassVar[int]
    PLAIN_TOTAL_FIELD_NUMBER: _ClassVar[int]
    PLAIN_DATA_FIELD_NUMBER: _ClassVar[int]
    PLAIN_KNOWLEDGE_FIELD_NUMBER: _ClassVar[int]
    starts: bytes
    stops: bytes
    log_probabilities: bytes
    total: bytes
    data: bytes
    knowledge: bytes
    plain_starts: _containers.RepeatedScalarFieldContainer[int]
    plain_stops: _containers.RepeatedScalarFieldContainer[int]
    plain_log_probabilities: _containers.RepeatedScalarFieldContainer[float]
    plain_total: _containers.RepeatedScalarFieldContainer[float]
    plain_data: _containers.RepeatedScalarFieldContainer[float]
    plain_knowledge: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, starts: _Optional[bytes] = ..., stops: _Optional[bytes] = ..., log_probabilities: _Optional[bytes] = ..., total: _Optional[bytes] = ..., data: _Optional[bytes] = ..., knowledge: _Optional[bytes] = ..., plain_starts: _Optional[_Iterable[int]] = ..., plain_stops: _Optional[_Iterable[int]] = ..., plain_log_probabilities: _Optional[_Iterable[float]] = ..., plain_total: _Optional[_Iterable[float]] = ..., plain_data: _Optional[_Iterable[float]] = ..., plain_knowledge: _Optional[_Iterable[float]] = ...) -> None: ...

class TranslationRemark(_message.Message):
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

class TranslationFailure(_message.Message):
    __slots__ = ("item", "text", "error")
    ITEM_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    item: int
    text: int
    error: _common_pb2.ErrorDetail
    def __init__(self, item: _Optional[int] = ..., text: _Optional[int] = ..., error: _Optional[_Union[_common_pb2.ErrorDetail, _Mapping]] = ...) -> None: ...

class TranslationStreamRequest(_message.Message):
    __slots__ = ("begin", "chunk")
    BEGIN_FIELD_NUMBER: _ClassVar[int]
    CHUNK_FIELD_NUMBER: _ClassVar[int]
    begin: _common_pb2.StreamBegin
    chunk: TranslationChunk
    def __init__(self, begin: _Optional[_Union[_common_pb2.StreamBegin, _Mapping]] = ..., chunk: _Optional[_Union[TranslationChunk, _Mapping]] = ...) -> None: ...

class TranslationChunk(_message.Message):
    __slots__ = ("sequence", "request")
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    sequence: int
    request: TranslationPredictRequest
    def __init__(self, sequence: _Optional[int] = ..., request: _Optional[_Union[TranslationPredictRequest, _Mapping]] = ...) -> None: ...

class TranslationStreamResponse(_message.Message):
    __slots__ = ("accepted", "result", "progress", "error", "sentence")
    ACCEPTED_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    SENTENCE_FIELD_NUMBER: _ClassVar[int]
    accepted: _common_pb2.StreamAccepted
    result: TranslationResult
    progress: _common_pb2.StreamProgress
    error: _common_pb2.ItemError
    sentence: TranslationSaid
    def __init__(self, accepted: _Optional[_Union[_common_pb2.StreamAccepted, _Mapping]] = ..., result: _Optional[_Union[TranslationResult, _Mapping]] = ..., progress: _Optional[_Union[_common_pb2.StreamProgress, _Mapping]] = ..., error: _Optional[_Union[_common_pb2.ItemError, _Mapping]] = ..., sentence: _Optional[_Union[TranslationSaid, _Mapping]] = ...) -> None: ...

class TranslationSaid(_message.Message):
    __slots__ = ("sequence", "sentence", "scores")
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    SENTENCE_FIELD_NUMBER: _ClassVar[int]
    SCORES_FIELD_NUMBER: _ClassVar[int]
    sequence: int
    sentence: TranslatedSentence
    scores: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, sequence: _Optional[int] = ..., sentence: _Optional[_Union[TranslatedSentence, _Mapping]] = ..., scores: _Optional[_Iterable[str]] = ...) -> None: ...

class TranslationResult(_message.Message):
    __slots__ = ("sequence", "answer")
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    sequence: int
    answer: TranslationPredictResponse
    def __init__(self, sequence: _Optional[int] = ..., answer: _Optional[_Union[TranslationPredictResponse, _Mapping]] = ...) -> None: ...
