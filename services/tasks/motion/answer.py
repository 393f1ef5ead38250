"""Fields of an answer about motion, with units and frames."""

from models.tasks.motion.spec import TRAJECTORIES
from services.transport.answer import DEFERRAL, ORIGIN, RECORDED, AnswerField, index, input_warnings, records, text

HEAD = TRAJECTORIES.name
SUBMISSION = "submission"
_PATHS = ("modes", "steps", 2)
_STEPS = "at 25 steps of 0.2 s, the first 0.2 s from now"
_POSE = (
    AnswerField("x", unit="m", dtype="float64", json="x_m", tensor=""),
    AnswerField("y", unit="m", dtype="float64", json="y_m", tensor=""),
    AnswerField("yaw", "Direction of driving.", "rad", "float64", json="yaw_rad", tensor=""),
)
AGENT = AnswerField(
    "agent",
    dtype="record",
    flat=True,
    missing="absent",
    tensor="",
    fields=(
        text("scene_id", "Id of its scene; empty, in JSON absent, where it is not known.", tensor="scene_id"),
        AnswerField("track_id", "Id of its track; 0, in JSON absent, where it is not known.", dtype="uint64"),
        AnswerField(
            "pose",
            "Of the vehicle now, in the frame of the scene; absent where it is not known.",
            dtype="record",
            missing="absent",
            title="AnsweredPose",
            fields=tuple(_POSE),
            tensor="",
        ),
    ),
)
ARRAYS = (
    AnswerField(
        "trajectories",
        f"Trajectories [x, y] {_STEPS}, in the frame of the agent: origin where it is now, x forward, y left; the most "
        "confident first. Absent, in tensors NaN, where the policy withholds the prediction, as are all below.",
        unit="m",
        shape=_PATHS,
        json="trajectories_m",
        missing="absent",
    ),
    AnswerField("confidences", "Of the trajectories; they sum to one.", shape=("modes",), missing="absent"),
    AnswerField(
        "scores",
        "Scores whose softmax the confidences are.",
        unit="nats",
        shape=("modes",),
        json="scores_nats",
        missing="absent",
    ),
    AnswerField(
        "total",
        f"Variance of the position over all samples, both axes together, {_STEPS}.",
        unit="m²",
        shape=("steps",),
        json="total_m2",
        missing="absent",
    ),
    AnswerField(
        "data",
        "Mean variance of one member's samples.",
        unit="m²",
        shape=("steps",),
        json="data_m2",
        missing="absent",
        needs="ensemble",
    ),
    AnswerField(
        "knowledge",
        "Variance of the members' means: total less data.",
        unit="m²",
        shape=("steps",),
        json="knowledge_m2",
        missing="absent",
        needs="ensemble",
    ),
    AnswerField(
        "scene_trajectories",
        "The trajectories in the frame of the scene; absent, in tensors NaN, without a pose.",
        unit="m",
        dtype="float64",
        shape=_PATHS,
        json="scene_trajectories_m",
        missing="absent",
    ),
)
REQUEST = (
    index("item", "Index of the request in the call."),
    AGENT,
    *ARRAYS,
    DEFERRAL,
    RECORDED,
    AnswerField(
        "unseen_seconds",
        "How long ago the vehicle was last seen; it was moved on at its velocity. Absent: it is seen now.",
        unit="s",
        dtype="float64",
        missing="absent",
        tensor="",
    ),
    input_warnings("speed_high, vehicles_high, left_out"),
)
"""Fields of one decided prediction request; messages also have the numbers of ``modes`` and ``steps``."""
SIZES = tuple(AnswerField(name, dtype="uint32", json="", tensor="") for name in ("modes", "steps"))
FAILURE = (
    index("item", "Index of the request in the call.", tensor=""),
    AnswerField("track_id", "Of the request; 0 where it is not known.", dtype="uint64", tensor=""),
    AnswerField("error", dtype="error", tensor=""),
)
ANSWER = (
    *ORIGIN,
    text("scene_id", "Of a scene; empty for maps."),
    records("answers", "In the order of the requests.", (*REQUEST, *SIZES), title="AgentAnswer"),
    records("failures", "Requests that could not be predicted, while others could.", FAILURE, title="Failure"),
    AnswerField(SUBMISSION, "Official submission file of these answers.", dtype="bytes", json="", default=False),
)
