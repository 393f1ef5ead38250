from demur.v1 import common_pb2 as _common_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class LabelSource(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    LABEL_SOURCE_UNSPECIFIED: _ClassVar[LabelSource]
    LABEL_SOURCE_REQUESTED: _ClassVar[LabelSource]
    LABEL_SOURCE_CENSUS: _ClassVar[LabelSource]
    LABEL_SOURCE_VOLUNTEERED: _ClassVar[LabelSource]

class LabelOutcome(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    LABEL_OUTCOME_UNSPECIFIED: _ClassVar[LabelOutcome]
    LABEL_OUTCOME_ACCEPTED: _ClassVar[LabelOutcome]
    LABEL_OUTCOME_DUPLICATE: _ClassVar[LabelOutcome]
    LABEL_OUTCOME_CORRECTED: _ClassVar[LabelOutcome]
    LABEL_OUTCOME_SUPERSEDED: _ClassVar[LabelOutcome]
    LABEL_OUTCOME_ORPHAN: _ClassVar[LabelOutcome]
    LABEL_OUTCOME_REJECTED: _ClassVar[LabelOutcome]

class ReviewQueue(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    REVIEW_QUEUE_UNSPECIFIED: _ClassVar[ReviewQueue]
    REVIEW_QUEUE_BLIND: _ClassVar[ReviewQueue]
    REVIEW_QUEUE_DRAFTS: _ClassVar[ReviewQueue]
    REVIEW_QUEUE_ADJUDICATION: _ClassVar[ReviewQueue]
LABEL_SOURCE_UNSPECIFIED: LabelSource
LABEL_SOURCE_REQUESTED: LabelSource
LABEL_SOURCE_CENSUS: LabelSource
LABEL_SOURCE_VOLUNTEERED: LabelSource
LABEL_OUTCOME_UNSPECIFIED: LabelOutcome
LABEL_OUTCOME_ACCEPTED: LabelOutcome
LABEL_OUTCOME_DUPLICATE: LabelOutcome
LABEL_OUTCOME_CORRECTED: LabelOutcome
LABEL_OUTCOME_SUPERSEDED: LabelOutcome
LABEL_OUTCOME_ORPHAN: LabelOutcome
LABEL_OUTCOME_REJECTED: LabelOutcome
REVIEW_QUEUE_UNSPECIFIED: ReviewQueue
REVIEW_QUEUE_BLIND: ReviewQueue
REVIEW_QUEUE_DRAFTS: ReviewQueue
REVIEW_QUEUE_ADJUDICATION: ReviewQueue

class LabelValue(_message.Message):
    __slots__ = ("number", "text", "file", "doubles")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    FILE_FIELD_NUMBER: _ClassVar[int]
    DOUBLES_FIELD_NUMBER: _ClassVar[int]
    number: float
    text: str
    file: bytes
    doubles: bytes
    def __init__(self, number: _Optional[float] = ..., text: _Optional[str] = ..., file: _Optional[bytes] = ..., doubles: _Optional[bytes] = ...) -> None: ...

class Label(_message.Message):
    __slots__ = ("unit", "value", "source", "head", "key", "version", "observed")
    UNIT_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    HEAD_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    OBSERVED_FIELD_NUMBER: _ClassVar[int]
    unit: str
    value: LabelValue
    source: LabelSource
    head: str
    key: str
    version: int
    observed: float
    def __init__(self, unit: _Optional[str] = ..., value: _Optional[_Union[LabelValue, _Mapping]] = ..., source: _Optional[_Union[LabelSource, str]] = ..., head: _Optional[str] = ..., key: _Optional[str] = ..., version: _Optional[int] = ..., observed: _Optional[float] = ...) -> None: ...

class PackedLabels(_message.Message):
    __slots__ = ("epoch", "epochs", "sequences", "values", "observed", "source", "head", "version")
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    EPOCHS_FIELD_NUMBER: _ClassVar[int]
    SEQUENCES_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    OBSERVED_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    HEAD_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    epoch: int
    epochs: bytes
    sequences: bytes
    values: bytes
    observed: bytes
    source: LabelSource
    head: str
    version: int
    def __init__(self, epoch: _Optional[int] = ..., epochs: _Optional[bytes] = ..., sequences: _Optional[bytes] = ..., values: _Optional[bytes] = ..., observed: _Optional[bytes] = ..., source: _Optional[_Union[LabelSource, str]] = ..., head: _Optional[str] = ..., version: _Optional[int] = ...) -> None: ...

class SubmitLabelsRequest(_message.Message):
    __slots__ = ("labels", "packed", "plain")
    LABELS_FIELD_NUMBER: _ClassVar[int]
    PACKED_FIELD_NUMBER: _ClassVar[int]
    PLAIN_FIELD_NUMBER: _ClassVar[int]
    labels: _containers.RepeatedCompositeFieldContainer[Label]
    packed: PackedLabels
    plain: bool
    def __init__(self, labels: _Optional[_Iterable[_Union[Label, _Mapping]]] = ..., packed: _Optional[_Union[PackedLabels, _Mapping]] = ..., plain: bool = ...) -> None: ...

class SubmitLabelsResponse(_message.Message):
    __slots__ = ("outcomes", "rejected", "plain_outcomes")
    OUTCOMES_FIELD_NUMBER: _ClassVar[int]
    REJECTED_FIELD_NUMBER: _ClassVar[int]
    PLAIN_OUTCOMES_FIELD_NUMBER: _ClassVar[int]
    outcomes: bytes
    rejected: _containers.RepeatedCompositeFieldContainer[RejectedLabel]
    plain_outcomes: _containers.RepeatedScalarFieldContainer[LabelOutcome]
    def __init__(self, outcomes: _Optional[bytes] = ..., rejected: _Optional[_Iterable[_Union[RejectedLabel, _Mapping]]] = ..., plain_outcomes: _Optional[_Iterable[_Union[LabelOutcome, str]]] = ...) -> None: ...

class RejectedLabel(_message.Message):
    __slots__ = ("index", "error")
    INDEX_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    index: int
    error: _common_pb2.ErrorDetail
    def __init__(self, index: _Optional[int] = ..., error: _Optional[_Union[_common_pb2.ErrorDetail, _Mapping]] = ...) -> None: ...

class ClaimRequest(_message.Message):
    __slots__ = ("count", "seconds", "head", "queue", "requests", "without_inputs")
    COUNT_FIELD_NUMBER: _ClassVar[int]
    SECONDS_FIELD_NUMBER: _ClassVar[int]
    HEAD_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    REQUESTS_FIELD_NUMBER: _ClassVar[int]
    WITHOUT_INPUTS_FIELD_NUMBER: _ClassVar[int]
    count: int
    seconds: float
    head: str
    queue: ReviewQueue
    requests: RequestIds
    without_inputs: bool
    def __init__(self, count: _Optional[int] = ..., seconds: _Optional[float] = ..., head: _Optional[str] = ..., queue: _Optional[_Union[ReviewQueue, str]] = ..., requests: _Optional[_Union[RequestIds, _Mapping]] = ..., without_inputs: bool = ...) -> None: ...

class RequestIds(_message.Message):
    __slots__ = ("requests",)
    REQUESTS_FIELD_NUMBER: _ClassVar[int]
    requests: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, requests: _Optional[_Iterable[str]] = ...) -> None: ...

class ClaimResponse(_message.Message):
    __slots__ = ("requests",)
    REQUESTS_FIELD_NUMBER: _ClassVar[int]
    requests: _containers.RepeatedCompositeFieldContainer[LabelRequest]
    def __init__(self, requests: _Optional[_Iterable[_Union[LabelRequest, _Mapping]]] = ...) -> None: ...

class LabelRequest(_message.Message):
    __slots__ = ("request", "lease", "lease_until", "due", "must_complete", "head", "label", "media_type", "columns", "input", "queue", "draft", "answers")
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    LEASE_FIELD_NUMBER: _ClassVar[int]
    LEASE_UNTIL_FIELD_NUMBER: _ClassVar[int]
    DUE_FIELD_NUMBER: _ClassVar[int]
    MUST_COMPLETE_FIELD_NUMBER: _ClassVar[int]
    HEAD_FIELD_NUMBER: _ClassVar[int]
    LABEL_FIELD_NUMBER: _ClassVar[int]
    MEDIA_TYPE_FIELD_NUMBER: _ClassVar[int]
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    INPUT_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    DRAFT_FIELD_NUMBER: _ClassVar[int]
    ANSWERS_FIELD_NUMBER: _ClassVar[int]
    request: str
    lease: str
    lease_until: float
    due: float
    must_complete: bool
    head: str
    label: str
    media_type: str
    columns: _containers.RepeatedCompositeFieldContainer[InputColumn]
    input: bytes
    queue: ReviewQueue
    draft: ShownPrediction
    answers: _containers.RepeatedCompositeFieldContainer[LabelValue]
    def __init__(self, request: _Optional[str] = ..., lease: _Optional[str] = ..., lease_until: _Optional[float] = ..., due: _Optional[float] = ..., must_complete: bool = ..., head: _Optional[str] = ..., label: _Optional[str] = ..., media_type: _Optional[str] = ..., columns: _Optional[_Iterable[_Union[InputColumn, _Mapping]]] = ..., input: _Optional[bytes] = ..., queue: _Optional[_Union[ReviewQueue, str]] = ..., draft: _Optional[_Union[ShownPrediction, _Mapping]] = ..., answers: _Optional[_Iterable[_Union[LabelValue, _Mapping]]] = ...) -> None: ...

class ShownPrediction(_message.Message):
    __slots__ = ("value", "texts", "plans")
    VALUE_FIELD_NUMBER: _ClassVar[int]
    TEXTS_FIELD_NUMBER: _ClassVar[int]
    PLANS_FIELD_NUMBER: _ClassVar[int]
    value: LabelValue
    texts: PredictedTexts
    plans: PredictedPlans
    def __init__(self, value: _Optional[_Union[LabelValue, _Mapping]] = ..., texts: _Optional[_Union[PredictedTexts, _Mapping]] = ..., plans: _Optional[_Union[PredictedPlans, _Mapping]] = ...) -> None: ...

class PredictedTexts(_message.Message):
    __slots__ = ("texts", "confidences")
    TEXTS_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCES_FIELD_NUMBER: _ClassVar[int]
    texts: _containers.RepeatedScalarFieldContainer[str]
    confidences: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, texts: _Optional[_Iterable[str]] = ..., confidences: _Optional[_Iterable[float]] = ...) -> None: ...

class PredictedPlans(_message.Message):
    __slots__ = ("plans", "weights")
    PLANS_FIELD_NUMBER: _ClassVar[int]
    WEIGHTS_FIELD_NUMBER: _ClassVar[int]
    plans: _containers.RepeatedCompositeFieldContainer[LabelValue]
    weights: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, plans: _Optional[_Iterable[_Union[LabelValue, _Mapping]]] = ..., weights: _Optional[_Iterable[float]] = ...) -> None: ...

class ListWaitingRequest(_message.Message):
    __slots__ = ("head", "limit", "after")
    HEAD_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    head: str
    limit: int
    after: str
    def __init__(self, head: _Optional[str] = ..., limit: _Optional[int] = ..., after: _Optional[str] = ...) -> None: ...

class ListWaitingResponse(_message.Message):
    __slots__ = ("requests", "next")
    REQUESTS_FIELD_NUMBER: _ClassVar[int]
    NEXT_FIELD_NUMBER: _ClassVar[int]
    requests: _containers.RepeatedCompositeFieldContainer[WaitingRequest]
    next: str
    def __init__(self, requests: _Optional[_Iterable[_Union[WaitingRequest, _Mapping]]] = ..., next: _Optional[str] = ...) -> None: ...

class WaitingRequest(_message.Message):
    __slots__ = ("request", "head", "time", "due", "state", "mine", "must_complete")
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    HEAD_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    DUE_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    MINE_FIELD_NUMBER: _ClassVar[int]
    MUST_COMPLETE_FIELD_NUMBER: _ClassVar[int]
    request: str
    head: str
    time: float
    due: float
    state: str
    mine: bool
    must_complete: bool
    def __init__(self, request: _Optional[str] = ..., head: _Optional[str] = ..., time: _Optional[float] = ..., due: _Optional[float] = ..., state: _Optional[str] = ..., mine: bool = ..., must_complete: bool = ...) -> None: ...

class GetInputRequest(_message.Message):
    __slots__ = ("request", "lease")
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    LEASE_FIELD_NUMBER: _ClassVar[int]
    request: str
    lease: str
    def __init__(self, request: _Optional[str] = ..., lease: _Optional[str] = ...) -> None: ...

class RequestInput(_message.Message):
    __slots__ = ("media_type", "content")
    MEDIA_TYPE_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    media_type: str
    content: bytes
    def __init__(self, media_type: _Optional[str] = ..., content: _Optional[bytes] = ...) -> None: ...

class InputColumn(_message.Message):
    __slots__ = ("name", "value", "unit", "description", "text")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    UNIT_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    name: str
    value: float
    unit: str
    description: str
    text: str
    def __init__(self, name: _Optional[str] = ..., value: _Optional[float] = ..., unit: _Optional[str] = ..., description: _Optional[str] = ..., text: _Optional[str] = ...) -> None: ...

class GetNeighboursRequest(_message.Message):
    __slots__ = ("request", "lease")
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    LEASE_FIELD_NUMBER: _ClassVar[int]
    request: str
    lease: str
    def __init__(self, request: _Optional[str] = ..., lease: _Optional[str] = ...) -> None: ...

class Neighbours(_message.Message):
    __slots__ = ("names", "before", "after")
    NAMES_FIELD_NUMBER: _ClassVar[int]
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    names: _containers.RepeatedScalarFieldContainer[str]
    before: _containers.RepeatedCompositeFieldContainer[Neighbour]
    after: _containers.RepeatedCompositeFieldContainer[Neighbour]
    def __init__(self, names: _Optional[_Iterable[str]] = ..., before: _Optional[_Iterable[_Union[Neighbour, _Mapping]]] = ..., after: _Optional[_Iterable[_Union[Neighbour, _Mapping]]] = ...) -> None: ...

class Neighbour(_message.Message):
    __slots__ = ("seconds", "values")
    SECONDS_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    seconds: float
    values: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, seconds: _Optional[float] = ..., values: _Optional[_Iterable[float]] = ...) -> None: ...

class ExtendRequest(_message.Message):
    __slots__ = ("request", "lease", "seconds")
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    LEASE_FIELD_NUMBER: _ClassVar[int]
    SECONDS_FIELD_NUMBER: _ClassVar[int]
    request: str
    lease: str
    seconds: float
    def __init__(self, request: _Optional[str] = ..., lease: _Optional[str] = ..., seconds: _Optional[float] = ...) -> None: ...

class ReleaseRequest(_message.Message):
    __slots__ = ("request", "lease", "reason")
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    LEASE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    request: str
    lease: str
    reason: str
    def __init__(self, request: _Optional[str] = ..., lease: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class SkipRequest(_message.Message):
    __slots__ = ("request", "lease", "reason", "unlabelable")
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    LEASE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    UNLABELABLE_FIELD_NUMBER: _ClassVar[int]
    request: str
    lease: str
    reason: str
    unlabelable: bool
    def __init__(self, request: _Optional[str] = ..., lease: _Optional[str] = ..., reason: _Optional[str] = ..., unlabelable: bool = ...) -> None: ...

class Lease(_message.Message):
    __slots__ = ("request", "state", "lease_until")
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    LEASE_UNTIL_FIELD_NUMBER: _ClassVar[int]
    request: str
    state: str
    lease_until: float
    def __init__(self, request: _Optional[str] = ..., state: _Optional[str] = ..., lease_until: _Optional[float] = ...) -> None: ...

class SubmitClaimedRequest(_message.Message):
    __slots__ = ("request", "lease", "value", "observed", "seconds")
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    LEASE_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    OBSERVED_FIELD_NUMBER: _ClassVar[int]
    SECONDS_FIELD_NUMBER: _ClassVar[int]
    request: str
    lease: str
    value: LabelValue
    observed: float
    seconds: float
    def __init__(self, request: _Optional[str] = ..., lease: _Optional[str] = ..., value: _Optional[_Union[LabelValue, _Mapping]] = ..., observed: _Optional[float] = ..., seconds: _Optional[float] = ...) -> None: ...

class SubmitClaimedResponse(_message.Message):
    __slots__ = ("outcome",)
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    outcome: LabelOutcome
    def __init__(self, outcome: _Optional[_Union[LabelOutcome, str]] = ...) -> None: ...

class RevealRequest(_message.Message):
    __slots__ = ("request", "lease")
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    LEASE_FIELD_NUMBER: _ClassVar[int]
    request: str
    lease: str
    def __init__(self, request: _Optional[str] = ..., lease: _Optional[str] = ...) -> None: ...

class RevealedPrediction(_message.Message):
    __slots__ = ("prediction", "uncertainty", "measure", "threshold", "deferred", "error", "error_unit")
    PREDICTION_FIELD_NUMBER: _ClassVar[int]
    UNCERTAINTY_FIELD_NUMBER: _ClassVar[int]
    MEASURE_FIELD_NUMBER: _ClassVar[int]
    THRESHOLD_FIELD_NUMBER: _ClassVar[int]
    DEFERRED_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    ERROR_UNIT_FIELD_NUMBER: _ClassVar[int]
    prediction: ShownPrediction
    uncertainty: float
    measure: str
    threshold: float
    deferred: bool
    error: float
    error_unit: str
    def __init__(self, prediction: _Optional[_Union[ShownPrediction, _Mapping]] = ..., uncertainty: _Optional[float] = ..., measure: _Optional[str] = ..., threshold: _Optional[float] = ..., deferred: bool = ..., error: _Optional[float] = ..., error_unit: _Optional[str] = ...) -> None: ...

class FlagRequest(_message.Message):
    __slots__ = ("request", "lease", "note")
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    LEASE_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    request: str
    lease: str
    note: str
    def __init__(self, request: _Optional[str] = ..., lease: _Optional[str] = ..., note: _Optional[str] = ...) -> None: ...

class CountRequestsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class CountRequestsResponse(_message.Message):
    __slots__ = ("counts", "keeps_inputs", "drafts", "adjudications")
    COUNTS_FIELD_NUMBER: _ClassVar[int]
    KEEPS_INPUTS_FIELD_NUMBER: _ClassVar[int]
    DRAFTS_FIELD_NUMBER: _ClassVar[int]
    ADJUDICATIONS_FIELD_NUMBER: _ClassVar[int]
    counts: _containers.RepeatedCompositeFieldContainer[RequestCount]
    keeps_inputs: bool
    drafts: bool
    adjudications: int
    def __init__(self, counts: _Optional[_Iterable[_Union[RequestCount, _Mapping]]] = ..., keeps_inputs: bool = ..., drafts: bool = ..., adjudications: _Optional[int] = ...) -> None: ...

class RequestCount(_message.Message):
    __slots__ = ("head", "state", "count")
    HEAD_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    head: str
    state: str
    count: int
    def __init__(self, head: _Optional[str] = ..., state: _Optional[str] = ..., count: _Optional[int] = ...) -> None: ...

class ResolveRequest(_message.Message):
    __slots__ = ("units", "wait_seconds")
    UNITS_FIELD_NUMBER: _ClassVar[int]
    WAIT_SECONDS_FIELD_NUMBER: _ClassVar[int]
    units: _containers.RepeatedScalarFieldContainer[str]
    wait_seconds: float
    def __init__(self, units: _Optional[_Iterable[str]] = ..., wait_seconds: _Optional[float] = ...) -> None: ...

class ResolveResponse(_message.Message):
    __slots__ = ("resolutions",)
    RESOLUTIONS_FIELD_NUMBER: _ClassVar[int]
    resolutions: _containers.RepeatedCompositeFieldContainer[Resolution]
    def __init__(self, resolutions: _Optional[_Iterable[_Union[Resolution, _Mapping]]] = ...) -> None: ...

class WatchRequest(_message.Message):
    __slots__ = ("units",)
    UNITS_FIELD_NUMBER: _ClassVar[int]
    units: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, units: _Optional[_Iterable[str]] = ...) -> None: ...

class Resolution(_message.Message):
    __slots__ = ("unit", "status", "state", "head", "value", "source", "version", "observed", "received")
    UNIT_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    HEAD_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    OBSERVED_FIELD_NUMBER: _ClassVar[int]
    RECEIVED_FIELD_NUMBER: _ClassVar[int]
    unit: str
    status: str
    state: str
    head: str
    value: LabelValue
    source: LabelSource
    version: int
    observed: float
    received: float
    def __init__(self, unit: _Optional[str] = ..., status: _Optional[str] = ..., state: _Optional[str] = ..., head: _Optional[str] = ..., value: _Optional[_Union[LabelValue, _Mapping]] = ..., source: _Optional[_Union[LabelSource, str]] = ..., version: _Optional[int] = ..., observed: _Optional[float] = ..., received: _Optional[float] = ...) -> None: ...

class CommitRequest(_message.Message):
    __slots__ = ("units",)
    UNITS_FIELD_NUMBER: _ClassVar[int]
    units: _containers.RepeatedCompositeFieldContainer[_common_pb2.UnitIds]
    def __init__(self, units: _Optional[_Iterable[_Union[_common_pb2.UnitIds, _Mapping]]] = ...) -> None: ...

class EraseRequest(_message.Message):
    __slots__ = ("units", "reason")
    UNITS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    units: _containers.RepeatedCompositeFieldContainer[_common_pb2.UnitIds]
    reason: str
    def __init__(self, units: _Optional[_Iterable[_Union[_common_pb2.UnitIds, _Mapping]]] = ..., reason: _Optional[str] = ...) -> None: ...

class EraseResponse(_message.Message):
    __slots__ = ("erased",)
    ERASED_FIELD_NUMBER: _ClassVar[int]
    erased: int
    def __init__(self, erased: _Optional[int] = ...) -> None: ...

class CommitResponse(_message.Message):
    __slots__ = ("units", "unknown")
    UNITS_FIELD_NUMBER: _ClassVar[int]
    UNKNOWN_FIELD_NUMBER: _ClassVar[int]
    units: int
    unknown: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, units: _Optional[int] = ..., unknown: _Optional[_Iterable[str]] = ...) -> None: ...
