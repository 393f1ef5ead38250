from demur.v1 import common_pb2 as _common_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class MotionPredictRequest(_message.Message):
    __slots__ = ("scene", "tensor", "rendered", "track_ids", "purpose", "defer_above", "submission", "plain")
    SCENE_FIELD_NUMBER: _ClassVar[int]
    TENSOR_FIELD_NUMBER: _ClassVar[int]
    RENDERED_FIELD_NUMBER: _ClassVar[int]
    TRACK_IDS_FIELD_NUMBER: _ClassVar[int]
    PURPOSE_FIELD_NUMBER: _ClassVar[int]
    DEFER_ABOVE_FIELD_NUMBER: _ClassVar[int]
    SUBMISSION_FIELD_NUMBER: _ClassVar[int]
    PLAIN_FIELD_NUMBER: _ClassVar[int]
    scene: bytes
    tensor: MotionTensor
    rendered: MotionRendered
    track_ids: _containers.RepeatedScalarFieldContainer[int]
    purpose: _common_pb2.Purpose
    defer_above: float
    submission: bool
    plain: bool
    def __init__(self, scene: _Optional[bytes] = ..., tensor: _Optional[_Union[MotionTensor, _Mapping]] = ..., rendered: _Optional[_Union[MotionRendered, _Mapping]] = ..., track_ids: _Optional[_Iterable[int]] = ..., purpose: _Optional[_Union[_common_pb2.Purpose, str]] = ..., defer_above: _Optional[float] = ..., submission: bool = ..., plain: bool = ...) -> None: ...

class MotionTensor(_message.Message):
    __slots__ = ("values", "agents")
    VALUES_FIELD_NUMBER: _ClassVar[int]
    AGENTS_FIELD_NUMBER: _ClassVar[int]
    values: bytes
    agents: _containers.RepeatedCompositeFieldContainer[MotionAgent]
    def __init__(self, values: _Optional[bytes] = ..., agents: _Optional[_Iterable[_Union[MotionAgent, _Mapping]]] = ...) -> None: ...

class MotionRendered(_message.Message):
    __slots__ = ("files", "agents")
    FILES_FIELD_NUMBER: _ClassVar[int]
    AGENTS_FIELD_NUMBER: _ClassVar[int]
    files: _containers.RepeatedScalarFieldContainer[bytes]
    agents: _containers.RepeatedCompositeFieldContainer[MotionAgent]
    def __init__(self, files: _Optional[_Iterable[bytes]] = ..., agents: _Optional[_Iterable[_Union[MotionAgent, _Mapping]]] = ...) -> None: ...

class MotionAgent(_message.Message):
    __slots__ = ("scene_id", "track_id", "pose")
    SCENE_ID_FIELD_NUMBER: _ClassVar[int]
    TRACK_ID_FIELD_NUMBER: _ClassVar[int]
    POSE_FIELD_NUMBER: _ClassVar[int]
    scene_id: str
    track_id: int
    pose: MotionPose
    def __init__(self, scene_id: _Optional[str] = ..., track_id: _Optional[int] = ..., pose: _Optional[_Union[MotionPose, _Mapping]] = ...) -> None: ...

class MotionPose(_message.Message):
    __slots__ = ("x", "y", "yaw")
    X_FIELD_NUMBER: _ClassVar[int]
    Y_FIELD_NUMBER: _ClassVar[int]
    YAW_FIELD_NUMBER: _ClassVar[int]
    x: float
    y: float
    yaw: float
    def __init__(self, x: _Optional[float] = ..., y: _Optional[float] = ..., yaw: _Optional[float] = ...) -> None: ...

class MotionPredictResponse(_message.Message):
    __slots__ = ("model", "scene_id", "answers", "failures", "submission", "profile")
    MODEL_FIELD_NUMBER: _ClassVar[int]
    SCENE_ID_FIELD_NUMBER: _ClassVar[int]
    ANSWERS_FIELD_NUMBER: _ClassVar[int]
    FAILURES_FIELD_NUMBER: _ClassVar[int]
    SUBMISSION_FIELD_NUMBER: _ClassVar[int]
    PROFILE_FIELD_NUMBER: _ClassVar[int]
    model: str
    scene_id: str
    answers: _containers.RepeatedCompositeFieldContainer[MotionAnswer]
    failures: _containers.RepeatedCompositeFieldContainer[MotionFailure]
    submission: bytes
    profile: str
    def __init__(self, model: _Optional[str] = ..., scene_id: _Optional[str] = ..., answers: _Optional[_Iterable[_Union[MotionAnswer, _Mapping]]] = ..., failures: _Optional[_Iterable[_Union[MotionFailure, _Mapping]]] = ..., submission: _Optional[bytes] = ..., profile: _Optional[str] = ...) -> None: ...

class MotionAnswer(_message.Message):
    __slots__ = ("item", "agent", "modes", "steps", "trajectories", "scene_trajectories", "confidences", "scores", "total", "data", "knowledge", "deferral", "recorded", "unseen_seconds", "remarks", "plain_trajectories", "plain_scene_trajectories", "plain_confidences", "plain_scores", "plain_total", "plain_data", "plain_knowledge")
    ITEM_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    MODES_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    TRAJECTORIES_FIELD_NUMBER: _ClassVar[int]
    SCENE_TRAJECTORIES_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCES_FIELD_NUMBER: _ClassVar[int]
    SCORES_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    KNOWLEDGE_FIELD_NUMBER: _ClassVar[int]
    DEFERRAL_FIELD_NUMBER: _ClassVar[int]
    RECORDED_FIELD_NUMBER: _ClassVar[int]
    UNSEEN_SECONDS_FIELD_NUMBER: _ClassVar[int]
    REMARKS_FIELD_NUMBER: _ClassVar[int]
    PLAIN_TRAJECTORIES_FIELD_NUMBER: _ClassVar[int]
    PLAIN_SCENE_TRAJECTORIES_FIELD_NUMBER: _ClassVar[int]
    PLAIN_CONFIDENCES_FIELD_NUMBER: _ClassVar[int]
    PLAIN_SCORES_FIELD_NUMBER: _ClassVar[int]
    PLAIN_TOTAL_FIELD_NUMBER: _ClassVar[int]
    PLAIN_DATA_FIELD_NUMBER: _ClassVar[int]
    PLAIN_KNOWLEDGE_FIELD_NUMBER: _ClassVar[int]
    item: int
    agent: MotionAgent
    modes: int
    steps: int
    trajectories: bytes
    scene_trajectories: bytes
    confidences: bytes
    scores: bytes
    total: bytes
    data: bytes
    knowledge: bytes
    deferral: _common_pb2.Deferral
    recorded: bool
    unseen_seconds: float
    remarks: _containers.RepeatedCompositeFieldContainer[MotionRemark]
    plain_trajectories: _containers.RepeatedScalarFieldContainer[float]
    plain_scene_trajectories: _containers.RepeatedScalarFieldContainer[float]
    plain_confidences: _containers.RepeatedScalarFieldContainer[float]
    plain_scores: _containers.RepeatedScalarFieldContainer[float]
    plain_total: _containers.RepeatedScalarFieldContainer[float]
    plain_data: _containers.RepeatedScalarFieldContainer[float]
    plain_knowledge: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, item: _Optional[int] = ..., agent: _Optional[_Union[MotionAgent, _Mapping]] = ..., modes: _Optional[int] = ..., steps: _Optional[int] = ..., trajectories: _Optional[bytes] = ..., scene_trajectories: _Optional[bytes] = ..., confidences: _Optional[bytes] = ..., scores: _Optional[bytes] = ..., total: _Optional[bytes] = ..., data: _Optional[bytes] = ..., knowledge: _Optional[bytes] = ..., deferral: _Optional[_Union[_common_pb2.Deferral, _Mapping]] = ..., recorded: bool = ..., unseen_seconds: _Optional[float] = ..., remarks: _Optional[_Iterable[_Union[MotionRemark, _Mapping]]] = ..., plain_trajectories: _Optional[_Iterable[float]] = ..., plain_scene_trajectories: _Optional[_Iterable[float]] = ..., plain_confidences: _Optional[_Iterable[float]] = ..., plain_scores: _Optional[_Iterable[float]] = ..., plain_total: _Optional[_Iterable[float]] = ..., plain_data: _Optional[_Iterable[float]] = ..., plain_knowledge: _Optional[_Iterable[float]] = ...) -> None: ...

class MotionRemark(_message.Message):
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

class MotionFailure(_message.Message):
    __slots__ = ("item", "track_id", "error")
    ITEM_FIELD_NUMBER: _ClassVar[int]
    TRACK_ID_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    item: int
    track_id: int
    error: _common_pb2.ErrorDetail
    def __init__(self, item: _Optional[int] = ..., track_id: _Optional[int] = ..., error: _Optional[_Union[_common_pb2.ErrorDetail, _Mapping]] = ...) -> None: ...

class MotionStreamRequest(_message.Message):
    __slots__ = ("begin", "chunk")
    BEGIN_FIELD_NUMBER: _ClassVar[int]
    CHUNK_FIELD_NUMBER: _ClassVar[int]
    begin: _common_pb2.StreamBegin
    chunk: MotionChunk
    def __init__(self, begin: _Optional[_Union[_common_pb2.StreamBegin, _Mapping]] = ..., chunk: _Optional[_Union[MotionChunk, _Mapping]] = ...) -> None: ...

class MotionChunk(_message.Message):
    __slots__ = ("sequence", "request")
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    sequence: int
    request: MotionPredictRequest
    def __init__(self, sequence: _Optional[int] = ..., request: _Optional[_Union[MotionPredictRequest, _Mapping]] = ...) -> None: ...

class MotionStreamResponse(_message.Message):
    __slots__ = ("accepted", "result", "progress", "error")
    ACCEPTED_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    accepted: _common_pb2.StreamAccepted
    result: MotionResult
    progress: _common_pb2.StreamProgress
    error: _common_pb2.ItemError
    def __init__(self, accepted: _Optional[_Union[_common_pb2.StreamAccepted, _Mapping]] = ..., result: _Optional[_Union[MotionResult, _Mapping]] = ..., progress: _Optional[_Union[_common_pb2.StreamProgress, _Mapping]] = ..., error: _Optional[_Union[_common_pb2.ItemError, _Mapping]] = ...) -> None: ...

class MotionResult(_message.Message):
    __slots__ = ("sequence", "answer")
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    sequence: int
    answer: MotionPredictResponse
    def __init__(self, sequence: _Optional[int] = ..., answer: _Optional[_Union[MotionPredictResponse, _Mapping]] = ...) -> None: ...
