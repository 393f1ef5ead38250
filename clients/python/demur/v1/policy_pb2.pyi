from demur.v1 import common_pb2 as _common_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ShowPoliciesRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ShowPoliciesResponse(_message.Message):
    __slots__ = ("policies",)
    POLICIES_FIELD_NUMBER: _ClassVar[int]
    policies: _containers.RepeatedCompositeFieldContainer[_common_pb2.PolicySpec]
    def __init__(self, policies: _Optional[_Iterable[_Union[_common_pb2.PolicySpec, _Mapping]]] = ...) -> None: ...

class SetPolicyRequest(_message.Message):
    __slots__ = ("head", "expected", "author", "reason", "target_retention", "threshold", "defer_all", "certificate", "audit_rate", "defer_on_shift", "withhold", "audits")
    HEAD_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_FIELD_NUMBER: _ClassVar[int]
    AUTHOR_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    TARGET_RETENTION_FIELD_NUMBER: _ClassVar[int]
    THRESHOLD_FIELD_NUMBER: _ClassVar[int]
    DEFER_ALL_FIELD_NUMBER: _ClassVar[int]
    CERTIFICATE_FIELD_NUMBER: _ClassVar[int]
    AUDIT_RATE_FIELD_NUMBER: _ClassVar[int]
    DEFER_ON_SHIFT_FIELD_NUMBER: _ClassVar[int]
    WITHHOLD_FIELD_NUMBER: _ClassVar[int]
    AUDITS_FIELD_NUMBER: _ClassVar[int]
    head: str
    expected: str
    author: str
    reason: str
    target_retention: float
    threshold: float
    defer_all: bool
    certificate: str
    audit_rate: float
    defer_on_shift: bool
    withhold: bool
    audits: str
    def __init__(self, head: _Optional[str] = ..., expected: _Optional[str] = ..., author: _Optional[str] = ..., reason: _Optional[str] = ..., target_retention: _Optional[float] = ..., threshold: _Optional[float] = ..., defer_all: bool = ..., certificate: _Optional[str] = ..., audit_rate: _Optional[float] = ..., defer_on_shift: bool = ..., withhold: bool = ..., audits: _Optional[str] = ...) -> None: ...

class PolicyEvent(_message.Message):
    __slots__ = ("number", "time", "author", "reason", "policy")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    AUTHOR_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    number: int
    time: float
    author: str
    reason: str
    policy: _common_pb2.PolicySpec
    def __init__(self, number: _Optional[int] = ..., time: _Optional[float] = ..., author: _Optional[str] = ..., reason: _Optional[str] = ..., policy: _Optional[_Union[_common_pb2.PolicySpec, _Mapping]] = ...) -> None: ...

class PolicyHistoryRequest(_message.Message):
    __slots__ = ("head", "most")
    HEAD_FIELD_NUMBER: _ClassVar[int]
    MOST_FIELD_NUMBER: _ClassVar[int]
    head: str
    most: int
    def __init__(self, head: _Optional[str] = ..., most: _Optional[int] = ...) -> None: ...

class PolicyHistoryResponse(_message.Message):
    __slots__ = ("events",)
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    events: _containers.RepeatedCompositeFieldContainer[PolicyEvent]
    def __init__(self, events: _Optional[_Iterable[_Union[PolicyEvent, _Mapping]]] = ...) -> None: ...
