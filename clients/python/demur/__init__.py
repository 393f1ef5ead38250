"""Client of Demur services: rows, images, scenes or texts in, predictions with uncertainty and decisions out.

>>> import demur
>>> with demur.connect("127.0.0.1:4005") as client:  # doctest: +SKIP
...     answer = client.vessel.predict(columns)
"""

from demur._async.lesion import AsyncBrainScans
from demur._async.motion import AsyncMotion
from demur._async.policies import AsyncPolicies
from demur._async.requests import AsyncRequests
from demur._async.rows import AsyncRowModel, AsyncVessel, AsyncWeather
from demur._async.translation import AsyncDocument, AsyncTranslator
from demur._build import build
from demur._client import AsyncClient, Client, aconnect, connect
from demur._decisions import Remark
from demur._description import Description, Feature, Head, Policy, PolicyChange, TrainingLabels
from demur._errors import (
    AccessDenied,
    Busy,
    Cancelled,
    Conflict,
    DeadlineExceeded,
    DemurError,
    InvalidInput,
    NotFound,
    ServiceFailure,
    TooLarge,
    Unavailable,
    WrongAddress,
)
from demur._exchange import ChunkError
from demur._ids import Committed, PredictionIds
from demur._labels.labels import Label, Labels, LabelsTaken, RejectedLabel
from demur._labels.requests import (
    InputColumn,
    LabelRequest,
    Neighbour,
    Neighbours,
    PredictedPlans,
    PredictedTexts,
    QueueState,
    RequestInput,
    RevealedPrediction,
    WaitingRequest,
)
from demur._labels.resolutions import Resolution, Resolutions, verify_webhook
from demur._lesion.answer import Interval, Lesion, LesionAnswer
from demur._lesion.request import Scan, ScanError
from demur._motion.answer import MotionAnswer, MotionAnswers, MotionFailure
from demur._motion.frame import Agent, Pose
from demur._motion.request import Maps, Scene
from demur._retry import Retry
from demur._rows.answers import Answer, CategoricalAnswer, RowsAnswer, WeatherAnswer
from demur._rows.intervals import Intervals
from demur._rows.packing import Rows
from demur._rows.shifted_inputs import ShiftedInput, ShiftedInputs
from demur._sync.lesion import BrainScans
from demur._sync.motion import Motion
from demur._sync.policies import Policies
from demur._sync.requests import Requests
from demur._sync.rows import RowModel, Vessel, Weather
from demur._sync.translation import Document, Translator
from demur._translation.answer import Translation, TranslationFailure, Translations
from demur._translation.sentence import DoubtfulWord, Hypothesis, Token, Tokens, TranslatedSentence
from demur._version import VERSION as __version__

__all__ = [
    "AccessDenied",
    "Agent",
    "Answer",
    "AsyncBrainScans",
    "AsyncClient",
    "AsyncDocument",
    "AsyncMotion",
    "AsyncPolicies",
    "AsyncRequests",
    "AsyncRowModel",
    "AsyncTranslator",
    "AsyncVessel",
    "AsyncWeather",
    "BrainScans",
    "Busy",
    "Cancelled",
    "CategoricalAnswer",
    "ChunkError",
    "Client",
    "Committed",
    "Conflict",
    "DeadlineExceeded",
    "DemurError",
    "Description",
    "Document",
    "DoubtfulWord",
    "Feature",
    "Head",
    "Hypothesis",
    "InputColumn",
    "Interval",
    "Intervals",
    "InvalidInput",
    "Label",
    "LabelRequest",
    "Labels",
    "LabelsTaken",
    "Lesion",
    "LesionAnswer",
    "Maps",
    "Motion",
    "MotionAnswer",
    "MotionAnswers",
    "MotionFailure",
    "Neighbour",
    "Neighbours",
    "NotFound",
    "Policies",
    "Policy",
    "PolicyChange",
    "Pose",
    "PredictedPlans",
    "PredictedTexts",
    "PredictionIds",
    "QueueState",
    "RejectedLabel",
    "Remark",
    "RequestInput",
    "Requests",
    "Resolution",
    "Resolutions",
    "Retry",
    "RevealedPrediction",
    "RowModel",
    "Rows",
    "RowsAnswer",
    "Scan",
    "ScanError",
    "Scene",
    "ServiceFailure",
    "ShiftedInput",
    "ShiftedInputs",
    "Token",
    "Tokens",
    "TooLarge",
    "TrainingLabels",
    "TranslatedSentence",
    "Translation",
    "TranslationFailure",
    "Translations",
    "Translator",
    "Unavailable",
    "Vessel",
    "WaitingRequest",
    "Weather",
    "WeatherAnswer",
    "WrongAddress",
    "__version__",
    "aconnect",
    "build",
    "connect",
    "verify_webhook",
]
