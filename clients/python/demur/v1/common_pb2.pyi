from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Purpose(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PURPOSE_UNSPECIFIED: _ClassVar[Purpose]
    PURPOSE_DECIDE: _ClassVar[Purpose]
    PURPOSE_EXPLORE: _ClassVar[Purpose]
    PURPOSE_REPLAY: _ClassVar[Purpose]

class Decision(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    DECISION_UNSPECIFIED: _ClassVar[Decision]
    DECISION_ANSWER: _ClassVar[Decision]
    DECISION_DEFER: _ClassVar[Decision]
    DECISION_CALLER_DEFERRED: _ClassVar[Decision]

class Shift(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SHIFT_NONE: _ClassVar[Shift]
    SHIFT_OUTSIDE_TRAINING_RANGE: _ClassVar[Shift]
    SHIFT_KNOWLEDGE_ABOVE_REFERENCE: _ClassVar[Shift]
    SHIFT_IMPOSSIBLE_PREDICTION: _ClassVar[Shift]
    SHIFT_UNLIKELY_INPUTS: _ClassVar[Shift]
PURPOSE_UNSPECIFIED: Purpose
PURPOSE_DECIDE: Purpose
PURPOSE_EXPLORE: Purpose
PURPOSE_REPLAY: Purpose
DECISION_UNSPECIFIED: Decision
DECISION_ANSWER: Decision
DECISION_DEFER: Decision
DECISION_CALLER_DEFERRED: Decision
SHIFT_NONE: Shift
SHIFT_OUTSIDE_TRAINING_RANGE: Shift
SHIFT_KNOWLEDGE_ABOVE_REFERENCE: Shift
SHIFT_IMPOSSIBLE_PREDICTION: Shift
SHIFT_UNLIKELY_INPUTS: Shift

class Rows(_message.Message):
    __slots__ = ("packed", "named")
    PACKED_FIELD_NUMBER: _ClassVar[int]
    NAMED_FIELD_NUMBER: _ClassVar[int]
    packed: PackedRows
    named: NamedColumns
    def __init__(self, packed: _Optional[_Union[PackedRows, _Mapping]] = ..., named: _Optional[_Union[NamedColumns, _Mapping]] = ...) -> None: ...

class PackedRows(_message.Message):
    __slots__ = ("row_count", "values", "schema_hash")
    ROW_COUNT_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    SCHEMA_HASH_FIELD_NUMBER: _ClassVar[int]
    row_count: int
    values: bytes
    schema_hash: str
    def __init__(self, row_count: _Optional[int] = ..., values: _Optional[bytes] = ..., schema_hash: _Optional[str] = ...) -> None: ...

class NamedColumns(_message.Message):
    __slots__ = ("columns",)
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    columns: _containers.RepeatedCompositeFieldContainer[NamedColumn]
    def __init__(self, columns: _Optional[_Iterable[_Union[NamedColumn, _Mapping]]] = ...) -> None: ...

class NamedColumn(_message.Message):
    __slots__ = ("name", "values", "unit", "texts")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    UNIT_FIELD_NUMBER: _ClassVar[int]
    TEXTS_FIELD_NUMBER: _ClassVar[int]
    name: str
    values: _containers.RepeatedScalarFieldContainer[float]
    unit: str
    texts: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, name: _Optional[str] = ..., values: _Optional[_Iterable[float]] = ..., unit: _Optional[str] = ..., texts: _Optional[_Iterable[str]] = ...) -> None: ...

class UnitIds(_message.Message):
    __slots__ = ("epoch", "first", "count")
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    FIRST_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    epoch: int
    first: int
    count: int
    def __init__(self, epoch: _Optional[int] = ..., first: _Optional[int] = ..., count: _Optional[int] = ...) -> None: ...

class Deferral(_message.Message):
    __slots__ = ("ids", "policy", "measure", "threshold", "uncertainty", "decisions", "shifts", "plain_uncertainty", "plain_decisions", "plain_shifts", "plain_ids")
    IDS_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    MEASURE_FIELD_NUMBER: _ClassVar[int]
    THRESHOLD_FIELD_NUMBER: _ClassVar[int]
    UNCERTAINTY_FIELD_NUMBER: _ClassVar[int]
    DECISIONS_FIELD_NUMBER: _ClassVar[int]
    SHIFTS_FIELD_NUMBER: _ClassVar[int]
    PLAIN_UNCERTAINTY_FIELD_NUMBER: _ClassVar[int]
    PLAIN_DECISIONS_FIELD_NUMBER: _ClassVar[int]
    PLAIN_SHIFTS_FIELD_NUMBER: _ClassVar[int]
    PLAIN_IDS_FIELD_NUMBER: _ClassVar[int]
    ids: UnitIds
    policy: str
    measure: str
    threshold: float
    uncertainty: bytes
    decisions: bytes
    shifts: bytes
    plain_uncertainty: _containers.RepeatedScalarFieldContainer[float]
    plain_decisions: _containers.RepeatedScalarFieldContainer[Decision]
    plain_shifts: _containers.RepeatedCompositeFieldContainer[Shifts]
    plain_ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, ids: _Optional[_Union[UnitIds, _Mapping]] = ..., policy: _Optional[str] = ..., measure: _Optional[str] = ..., threshold: _Optional[float] = ..., uncertainty: _Optional[bytes] = ..., decisions: _Optional[bytes] = ..., shifts: _Optional[bytes] = ..., plain_uncertainty: _Optional[_Iterable[float]] = ..., plain_decisions: _Optional[_Iterable[_Union[Decision, str]]] = ..., plain_shifts: _Optional[_Iterable[_Union[Shifts, _Mapping]]] = ..., plain_ids: _Optional[_Iterable[str]] = ...) -> None: ...

class Shifts(_message.Message):
    __slots__ = ("shifts",)
    SHIFTS_FIELD_NUMBER: _ClassVar[int]
    shifts: _containers.RepeatedScalarFieldContainer[Shift]
    def __init__(self, shifts: _Optional[_Iterable[_Union[Shift, str]]] = ...) -> None: ...

class ShiftedInputs(_message.Message):
    __slots__ = ("rows", "columns", "values", "deviations", "expected", "inputs", "plain_rows", "plain_columns", "plain_values", "plain_deviations", "plain_expected")
    ROWS_FIELD_NUMBER: _ClassVar[int]
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    DEVIATIONS_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_FIELD_NUMBER: _ClassVar[int]
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    PLAIN_ROWS_FIELD_NUMBER: _ClassVar[int]
    PLAIN_COLUMNS_FIELD_NUMBER: _ClassVar[int]
    PLAIN_VALUES_FIELD_NUMBER: _ClassVar[int]
    PLAIN_DEVIATIONS_FIELD_NUMBER: _ClassVar[int]
    PLAIN_EXPECTED_FIELD_NUMBER: _ClassVar[int]
    rows: bytes
    columns: bytes
    values: bytes
    deviations: bytes
    expected: bytes
    inputs: _containers.RepeatedCompositeFieldContainer[ShiftedInput]
    plain_rows: _containers.RepeatedScalarFieldContainer[int]
    plain_columns: _containers.RepeatedScalarFieldContainer[int]
    plain_values: _containers.RepeatedScalarFieldContainer[float]
    plain_deviations: _containers.RepeatedScalarFieldContainer[float]
    plain_expected: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, rows: _Optional[bytes] = ..., columns: _Optional[bytes] = ..., values: _Optional[bytes] = ..., deviations: _Optional[bytes] = ..., expected: _Optional[bytes] = ..., inputs: _Optional[_Iterable[_Union[ShiftedInput, _Mapping]]] = ..., plain_rows: _Optional[_Iterable[int]] = ..., plain_columns: _Optional[_Iterable[int]] = ..., plain_values: _Optional[_Iterable[float]] = ..., plain_deviations: _Optional[_Iterable[float]] = ..., plain_expected: _Optional[_Iterable[float]] = ...) -> None: ...

class ShiftedInput(_message.Message):
    __slots__ = ("name", "unit", "trained_lower", "trained_upper")
    NAME_FIELD_NUMBER: _ClassVar[int]
    UNIT_FIELD_NUMBER: _ClassVar[int]
    TRAINED_LOWER_FIELD_NUMBER: _ClassVar[int]
    TRAINED_UPPER_FIELD_NUMBER: _ClassVar[int]
    name: str
    unit: str
    trained_lower: float
    trained_upper: float
    def __init__(self, name: _Optional[str] = ..., unit: _Optional[str] = ..., trained_lower: _Optional[float] = ..., trained_upper: _Optional[float] = ...) -> None: ...

class Intervals(_message.Message):
    __slots__ = ("levels", "multipliers")
    LEVELS_FIELD_NUMBER: _ClassVar[int]
    MULTIPLIERS_FIELD_NUMBER: _ClassVar[int]
    levels: _containers.RepeatedScalarFieldContainer[float]
    multipliers: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, levels: _Optional[_Iterable[float]] = ..., multipliers: _Optional[_Iterable[float]] = ...) -> None: ...

class GaussianHead(_message.Message):
    __slots__ = ("mean", "total", "data", "knowledge", "deferral", "intervals", "member_means", "member_variances", "plain_mean", "plain_total", "plain_data", "plain_knowledge", "plain_member_means", "plain_member_variances")
    MEAN_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    KNOWLEDGE_FIELD_NUMBER: _ClassVar[int]
    DEFERRAL_FIELD_NUMBER: _ClassVar[int]
    INTERVALS_FIELD_NUMBER: _ClassVar[int]
    MEMBER_MEANS_FIELD_NUMBER: _ClassVar[int]
    MEMBER_VARIANCES_FIELD_NUMBER: _ClassVar[int]
    PLAIN_MEAN_FIELD_NUMBER: _ClassVar[int]
    PLAIN_TOTAL_FIELD_NUMBER: _ClassVar[int]
    PLAIN_DATA_FIELD_NUMBER: _ClassVar[int]
    PLAIN_KNOWLEDGE_FIELD_NUMBER: _ClassVar[int]
    PLAIN_MEMBER_MEANS_FIELD_NUMBER: _ClassVar[int]
    PLAIN_MEMBER_VARIANCES_FIELD_NUMBER: _ClassVar[int]
    mean: bytes
    total: bytes
    data: bytes
    knowledge: bytes
    deferral: Deferral
    intervals: Intervals
    member_means: bytes
    member_variances: bytes
    plain_mean: _containers.RepeatedScalarFieldContainer[float]
    plain_total: _containers.RepeatedScalarFieldContainer[float]
    plain_data: _containers.RepeatedScalarFieldContainer[float]
    plain_knowledge: _containers.RepeatedScalarFieldContainer[float]
    plain_member_means: _containers.RepeatedScalarFieldContainer[float]
    plain_member_variances: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, mean: _Optional[bytes] = ..., total: _Optional[bytes] = ..., data: _Optional[bytes] = ..., knowledge: _Optional[bytes] = ..., deferral: _Optional[_Union[Deferral, _Mapping]] = ..., intervals: _Optional[_Union[Intervals, _Mapping]] = ..., member_means: _Optional[bytes] = ..., member_variances: _Optional[bytes] = ..., plain_mean: _Optional[_Iterable[float]] = ..., plain_total: _Optional[_Iterable[float]] = ..., plain_data: _Optional[_Iterable[float]] = ..., plain_knowledge: _Optional[_Iterable[float]] = ..., plain_member_means: _Optional[_Iterable[float]] = ..., plain_member_variances: _Optional[_Iterable[float]] = ...) -> None: ...

class CategoricalHead(_message.Message):
    __slots__ = ("classes", "probabilities", "total", "data", "knowledge", "deferral", "member_probabilities", "plain_probabilities", "plain_total", "plain_data", "plain_knowledge", "plain_member_probabilities")
    CLASSES_FIELD_NUMBER: _ClassVar[int]
    PROBABILITIES_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    KNOWLEDGE_FIELD_NUMBER: _ClassVar[int]
    DEFERRAL_FIELD_NUMBER: _ClassVar[int]
    MEMBER_PROBABILITIES_FIELD_NUMBER: _ClassVar[int]
    PLAIN_PROBABILITIES_FIELD_NUMBER: _ClassVar[int]
    PLAIN_TOTAL_FIELD_NUMBER: _ClassVar[int]
    PLAIN_DATA_FIELD_NUMBER: _ClassVar[int]
    PLAIN_KNOWLEDGE_FIELD_NUMBER: _ClassVar[int]
    PLAIN_MEMBER_PROBABILITIES_FIELD_NUMBER: _ClassVar[int]
    classes: int
    probabilities: bytes
    total: bytes
    data: bytes
    knowledge: bytes
    deferral: Deferral
    member_probabilities: bytes
    plain_probabilities: _containers.RepeatedScalarFieldContainer[float]
    plain_total: _containers.RepeatedScalarFieldContainer[float]
    plain_data: _containers.RepeatedScalarFieldContainer[float]
    plain_knowledge: _containers.RepeatedScalarFieldContainer[float]
    plain_member_probabilities: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, classes: _Optional[int] = ..., probabilities: _Optional[bytes] = ..., total: _Optional[bytes] = ..., data: _Optional[bytes] = ..., knowledge: _Optional[bytes] = ..., deferral: _Optional[_Union[Deferral, _Mapping]] = ..., member_probabilities: _Optional[bytes] = ..., plain_probabilities: _Optional[_Iterable[float]] = ..., plain_total: _Optional[_Iterable[float]] = ..., plain_data: _Optional[_Iterable[float]] = ..., plain_knowledge: _Optional[_Iterable[float]] = ..., plain_member_probabilities: _Optional[_Iterable[float]] = ...) -> None: ...

class ErrorDetail(_message.Message):
    __slots__ = ("code", "message", "field", "unit", "value", "allowed", "index", "retry_after_seconds")
    CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    FIELD_FIELD_NUMBER: _ClassVar[int]
    UNIT_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    ALLOWED_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    RETRY_AFTER_SECONDS_FIELD_NUMBER: _ClassVar[int]
    code: str
    message: str
    field: str
    unit: str
    value: str
    allowed: str
    index: int
    retry_after_seconds: float
    def __init__(self, code: _Optional[str] = ..., message: _Optional[str] = ..., field: _Optional[str] = ..., unit: _Optional[str] = ..., value: _Optional[str] = ..., allowed: _Optional[str] = ..., index: _Optional[int] = ..., retry_after_seconds: _Optional[float] = ...) -> None: ...

class StreamBegin(_message.Message):
    __slots__ = ("purpose", "defer_above", "members", "defer_above_by_head", "plain", "intervals", "known_intervals")
    class DeferAboveByHeadEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: float
        def __init__(self, key: _Optional[str] = ..., value: _Optional[float] = ...) -> None: ...
    PURPOSE_FIELD_NUMBER: _ClassVar[int]
    DEFER_ABOVE_FIELD_NUMBER: _ClassVar[int]
    MEMBERS_FIELD_NUMBER: _ClassVar[int]
    DEFER_ABOVE_BY_HEAD_FIELD_NUMBER: _ClassVar[int]
    PLAIN_FIELD_NUMBER: _ClassVar[int]
    INTERVALS_FIELD_NUMBER: _ClassVar[int]
    KNOWN_INTERVALS_FIELD_NUMBER: _ClassVar[int]
    purpose: Purpose
    defer_above: float
    members: bool
    defer_above_by_head: _containers.ScalarMap[str, float]
    plain: bool
    intervals: bool
    known_intervals: int
    def __init__(self, purpose: _Optional[_Union[Purpose, str]] = ..., defer_above: _Optional[float] = ..., members: bool = ..., defer_above_by_head: _Optional[_Mapping[str, float]] = ..., plain: bool = ..., intervals: bool = ..., known_intervals: _Optional[int] = ...) -> None: ...

class StreamAccepted(_message.Message):
    __slots__ = ("model", "policy", "quantum_rows", "window_chunks", "profile")
    MODEL_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    QUANTUM_ROWS_FIELD_NUMBER: _ClassVar[int]
    WINDOW_CHUNKS_FIELD_NUMBER: _ClassVar[int]
    PROFILE_FIELD_NUMBER: _ClassVar[int]
    model: str
    policy: str
    quantum_rows: int
    window_chunks: int
    profile: str
    def __init__(self, model: _Optional[str] = ..., policy: _Optional[str] = ..., quantum_rows: _Optional[int] = ..., window_chunks: _Optional[int] = ..., profile: _Optional[str] = ...) -> None: ...

class StreamProgress(_message.Message):
    __slots__ = ("chunks_done", "units_done", "sequence", "fraction", "stage")
    CHUNKS_DONE_FIELD_NUMBER: _ClassVar[int]
    UNITS_DONE_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    FRACTION_FIELD_NUMBER: _ClassVar[int]
    STAGE_FIELD_NUMBER: _ClassVar[int]
    chunks_done: int
    units_done: int
    sequence: int
    fraction: float
    stage: str
    def __init__(self, chunks_done: _Optional[int] = ..., units_done: _Optional[int] = ..., sequence: _Optional[int] = ..., fraction: _Optional[float] = ..., stage: _Optional[str] = ...) -> None: ...

class ItemError(_message.Message):
    __slots__ = ("sequence", "error", "item")
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    ITEM_FIELD_NUMBER: _ClassVar[int]
    sequence: int
    error: ErrorDetail
    item: int
    def __init__(self, sequence: _Optional[int] = ..., error: _Optional[_Union[ErrorDetail, _Mapping]] = ..., item: _Optional[int] = ...) -> None: ...

class FeatureSpec(_message.Message):
    __slots__ = ("name", "unit", "lower", "upper", "description", "nullable", "trained_lower", "trained_upper", "sentinels", "values", "categories", "other")
    NAME_FIELD_NUMBER: _ClassVar[int]
    UNIT_FIELD_NUMBER: _ClassVar[int]
    LOWER_FIELD_NUMBER: _ClassVar[int]
    UPPER_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    NULLABLE_FIELD_NUMBER: _ClassVar[int]
    TRAINED_LOWER_FIELD_NUMBER: _ClassVar[int]
    TRAINED_UPPER_FIELD_NUMBER: _ClassVar[int]
    SENTINELS_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    CATEGORIES_FIELD_NUMBER: _ClassVar[int]
    OTHER_FIELD_NUMBER: _ClassVar[int]
    name: str
    unit: str
    lower: float
    upper: float
    description: str
    nullable: bool
    trained_lower: float
    trained_upper: float
    sentinels: _containers.RepeatedScalarFieldContainer[float]
    values: _containers.RepeatedScalarFieldContainer[float]
    categories: _containers.RepeatedScalarFieldContainer[str]
    other: bool
    def __init__(self, name: _Optional[str] = ..., unit: _Optional[str] = ..., lower: _Optional[float] = ..., upper: _Optional[float] = ..., description: _Optional[str] = ..., nullable: bool = ..., trained_lower: _Optional[float] = ..., trained_upper: _Optional[float] = ..., sentinels: _Optional[_Iterable[float]] = ..., values: _Optional[_Iterable[float]] = ..., categories: _Optional[_Iterable[str]] = ..., other: bool = ...) -> None: ...

class HeadSpec(_message.Message):
    __slots__ = ("name", "kind", "unit", "measure", "label", "error", "error_unit", "acceptable", "class_names", "lower", "upper", "intervals", "training_labels")
    NAME_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    UNIT_FIELD_NUMBER: _ClassVar[int]
    MEASURE_FIELD_NUMBER: _ClassVar[int]
    LABEL_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    ERROR_UNIT_FIELD_NUMBER: _ClassVar[int]
    ACCEPTABLE_FIELD_NUMBER: _ClassVar[int]
    CLASS_NAMES_FIELD_NUMBER: _ClassVar[int]
    LOWER_FIELD_NUMBER: _ClassVar[int]
    UPPER_FIELD_NUMBER: _ClassVar[int]
    INTERVALS_FIELD_NUMBER: _ClassVar[int]
    TRAINING_LABELS_FIELD_NUMBER: _ClassVar[int]
    name: str
    kind: str
    unit: str
    measure: str
    label: str
    error: str
    error_unit: str
    acceptable: float
    class_names: _containers.RepeatedScalarFieldContainer[str]
    lower: float
    upper: float
    intervals: Intervals
    training_labels: TrainingLabels
    def __init__(self, name: _Optional[str] = ..., kind: _Optional[str] = ..., unit: _Optional[str] = ..., measure: _Optional[str] = ..., label: _Optional[str] = ..., error: _Optional[str] = ..., error_unit: _Optional[str] = ..., acceptable: _Optional[float] = ..., class_names: _Optional[_Iterable[str]] = ..., lower: _Optional[float] = ..., upper: _Optional[float] = ..., intervals: _Optional[_Union[Intervals, _Mapping]] = ..., training_labels: _Optional[_Union[TrainingLabels, _Mapping]] = ...) -> None: ...

class TrainingLabels(_message.Message):
    __slots__ = ("column", "values", "labels")
    COLUMN_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    column: str
    values: _containers.RepeatedScalarFieldContainer[float]
    labels: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, column: _Optional[str] = ..., values: _Optional[_Iterable[float]] = ..., labels: _Optional[_Iterable[float]] = ...) -> None: ...

class DescribeRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class DescribeResponse(_message.Message):
    __slots__ = ("task", "model", "schema_hash", "features", "heads", "policies", "max_rows", "metadata", "intervals_digest")
    TASK_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    SCHEMA_HASH_FIELD_NUMBER: _ClassVar[int]
    FEATURES_FIELD_NUMBER: _ClassVar[int]
    HEADS_FIELD_NUMBER: _ClassVar[int]
    POLICIES_FIELD_NUMBER: _ClassVar[int]
    MAX_ROWS_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    INTERVALS_DIGEST_FIELD_NUMBER: _ClassVar[int]
    task: str
    model: str
    schema_hash: str
    features: _containers.RepeatedCompositeFieldContainer[FeatureSpec]
    heads: _containers.RepeatedCompositeFieldContainer[HeadSpec]
    policies: _containers.RepeatedCompositeFieldContainer[PolicySpec]
    max_rows: int
    metadata: _containers.RepeatedScalarFieldContainer[str]
    intervals_digest: int
    def __init__(self, task: _Optional[str] = ..., model: _Optional[str] = ..., schema_hash: _Optional[str] = ..., features: _Optional[_Iterable[_Union[FeatureSpec, _Mapping]]] = ..., heads: _Optional[_Iterable[_Union[HeadSpec, _Mapping]]] = ..., policies: _Optional[_Iterable[_Union[PolicySpec, _Mapping]]] = ..., max_rows: _Optional[int] = ..., metadata: _Optional[_Iterable[str]] = ..., intervals_digest: _Optional[int] = ...) -> None: ...

class PolicySpec(_message.Message):
    __slots__ = ("head", "version", "measure", "threshold", "mode", "target_retention", "retention_band", "calibration_units", "defer_on_shift", "withhold", "model", "profile", "reason", "audit_rate", "certificate", "audits")
    HEAD_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    MEASURE_FIELD_NUMBER: _ClassVar[int]
    THRESHOLD_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    TARGET_RETENTION_FIELD_NUMBER: _ClassVar[int]
    RETENTION_BAND_FIELD_NUMBER: _ClassVar[int]
    CALIBRATION_UNITS_FIELD_NUMBER: _ClassVar[int]
    DEFER_ON_SHIFT_FIELD_NUMBER: _ClassVar[int]
    WITHHOLD_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    PROFILE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    AUDIT_RATE_FIELD_NUMBER: _ClassVar[int]
    CERTIFICATE_FIELD_NUMBER: _ClassVar[int]
    AUDITS_FIELD_NUMBER: _ClassVar[int]
    head: str
    version: str
    measure: str
    threshold: float
    mode: str
    target_retention: float
    retention_band: float
    calibration_units: int
    defer_on_shift: bool
    withhold: bool
    model: str
    profile: str
    reason: str
    audit_rate: float
    certificate: str
    audits: str
    def __init__(self, head: _Optional[str] = ..., version: _Optional[str] = ..., measure: _Optional[str] = ..., threshold: _Optional[float] = ..., mode: _Optional[str] = ..., target_retention: _Optional[float] = ..., retention_band: _Optional[float] = ..., calibration_units: _Optional[int] = ..., defer_on_shift: bool = ..., withhold: bool = ..., model: _Optional[str] = ..., profile: _Optional[str] = ..., reason: _Optional[str] = ..., audit_rate: _Optional[float] = ..., certificate: _Optional[str] = ..., audits: _Optional[str] = ...) -> None: ...
