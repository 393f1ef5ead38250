"""Client of Demur services: rows, images, scenes or texts in, predictions with uncertainty and decisions out.

>>> import demur
>>> with demur.connect("127.0.0.1:4005") as client:  # doctest: +SKIP
...     answer = client.vessel.predict(columns)
"""

from demur._answer import Answer, Intervals
from demur._categorical import CategoricalAnswer
from demur._client import AsyncClient, Client, aconnect, connect
from demur._commit import Committed
from demur._decided import Remark
from demur._describe import Description, Feature, Head, Policy
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
from demur._ids import PredictionIds
from demur._label import Label, LabelsTaken, RejectedLabel
from demur._labels import Labels
from demur._lesion import AsyncBrainScans, BrainScans
from demur._lesion_answer import LesionAnswer
from demur._lesion_exchange import ScanError
from demur._lesion_findings import Interval, Lesion
from demur._lesion_question import Scan
from demur._motion import AsyncMotion, Motion
from demur._motion_answer import MotionAnswer, MotionAnswers, MotionFailure
from demur._motion_frame import Agent, Pose
from demur._motion_question import Maps, Scene
from demur._policies import AsyncPolicies, Policies, PolicyChange
from demur._requests import InputColumn, LabelRequest, Requests
from demur._resolutions import Resolution, Resolutions
from demur._retry import Retry
from demur._rows import Rows
from demur._shifted_inputs import ShiftedInput, ShiftedInputs
from demur._translation import AsyncTranslator, Translator
from demur._translation_answer import Translation, TranslationFailure, Translations
from demur._translation_document import AsyncDocument, Document
from demur._translation_sentence import Hypothesis, TranslatedSentence
from demur._translation_tokens import DoubtfulWord, Token, Tokens
from demur._version import VERSION as __version__
from demur._vessel import AsyncVessel, Vessel
from demur._weather import AsyncWeather, Weather, WeatherAnswer
from demur._webhooks import verify_webhook

__all__ = [
    "AccessDenied",
    "Agent",
    "Answer",
    "AsyncBrainScans",
    "AsyncClient",
    "AsyncDocument",
    "AsyncMotion",
    "AsyncPolicies",
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
    "NotFound",
    "Policies",
    "Policy",
    "PolicyChange",
    "Pose",
    "PredictionIds",
    "RejectedLabel",
    "Remark",
    "Requests",
    "Resolution",
    "Resolutions",
    "Retry",
    "Rows",
    "Scan",
    "ScanError",
    "Scene",
    "ServiceFailure",
    "ShiftedInput",
    "ShiftedInputs",
    "Token",
    "Tokens",
    "TooLarge",
    "TranslatedSentence",
    "Translation",
    "TranslationFailure",
    "Translations",
    "Translator",
    "Unavailable",
    "Vessel",
    "Weather",
    "WeatherAnswer",
    "WrongAddress",
    "__version__",
    "aconnect",
    "connect",
    "verify_webhook",
]
