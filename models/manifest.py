"""Manifest of an artefact: everything that serving needs to know about it, in one JSON file."""

from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec

from models.calibration import Calibration
from models.head import Head
from models.schema import Feature

FORMATS = (1, 2, 3, 4)
"""Formats that can be read. Format 4 is written if the artefact declares its own heads, else format 3 if there is a
density of training inputs, else format 2 if there is a replay set, else format 1.
"""
REPLAY_SCORES = "replay-scores.npz"
ROWS = "rows"
"""Task that serves artefacts with heads of their own."""

Count = Annotated[int, msgspec.Meta(ge=1)]
Sha256 = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]


class Source(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Data set on which an artefact was trained or calibrated."""

    role: str
    description: str
    licence: str
    fingerprint: str
    rows: int


class Range(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Range of the training inputs per feature, in schema order and units."""

    lower: tuple[float, ...]
    upper: tuple[float, ...]


class Executor(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Files and settings with which members are run."""

    kind: Literal["onnx", "catboost"]
    file: str = ""
    """Graph of all members; empty for ``catboost`` and for layouts of several graphs."""
    layout: Literal["stacked", "split", "separate", "stepwise", "trees", "reduced"] = "stacked"
    """Arrangement of members in graphs. ``separate``: one graph per member, for slow networks with large outputs.
    ``stepwise``: an encoder graph and a graph that is run step by step, each with all members. ``reduced``: one graph
    from rows to the statistics of all heads. ``trees``: the same, or CatBoost, on the CPU with any provider.
    """
    precision: Literal["fp32", "fp16", "int8"] = "fp32"
    models: dict[str, tuple[str, ...]] = {}
    """Head name to files. For ``catboost``: the .cbm files of the members; a head has one file, or one per member. For
    the layout ``separate``: the graphs of the members; for ``stepwise``: the encoder graph, then the graph of a step.
    """
    virtual: int = 0
    """For ``catboost``: number of virtual ensemble members that each file is cut into; 0 for none."""
    finish: str = ""
    """For ``catboost``: graph from the trees' raw sums to the statistics of all heads; empty if there is none."""

    def __post_init__(self) -> None:
        several = self.layout in ("separate", "stepwise")
        if self.kind == "onnx" and (several == bool(self.file) or several != any(self.models.values())):
            raise ValueError(
                "an onnx executor has one graph under file, or with layout separate or stepwise graphs under models"
            )
        if several and self.kind != "onnx":
            raise ValueError(f"layout {self.layout} is of onnx executors, this one is {self.kind}")

    @property
    def files(self) -> tuple[str, ...]:
        """All files that the executor opens."""
        return tuple(
            filter(None, (self.file, *(name for names in self.models.values() for name in names), self.finish))
        )


class Replay(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Replay set: inputs with their scores, against which another provider or device is compared with this CPU."""

    inputs: Annotated[str, msgspec.Meta(pattern=r"^replay-[0-9a-f]{16}\.npz$")]
    """File of the inputs, named after its sha256; artefacts of one task may share it (see ``Artefact.path``)."""
    scores: str = REPLAY_SCORES
    """File of the scores, which belongs to this artefact alone."""
    profile: str
    """Name of the numeric profile that computed the scores."""
    units: Count
    cpu: str
    """Instruction set of the CPU that computed the scores; for records only."""
    source: str
    """Origin of the inputs, and their licence."""


def format_of(replay: Replay | None, training_inputs: str, outputs: Sequence[Head] = ()) -> Literal[1, 2, 3, 4]:
    """Return the format of a manifest with this replay set, file of training inputs and heads of its own, if any."""
    if outputs:
        return 4
    if training_inputs:
        return 3
    return 1 if replay is None else 2


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Manifest of an artefact: everything that serving needs to know about it."""

    format: Literal[1, 2, 3, 4] = 1
    task: str
    """Task that serves the artefact; of an artefact with heads of its own, the name that it is served under."""
    family: str
    """Kind of model, e.g. ``dnn``, ``mc_dropout``, ``variational``, ``symbolic``."""
    members: Count
    """Number of trained models in the ensemble."""
    samples: Count = 1
    """Number of frozen masks or weight samples per trained model."""
    sample_seed: int | None = None
    schema: tuple[Feature, ...] = ()
    metadata: tuple[str, ...] = ()
    """Columns of the task's files that are not features: accepted by name and ignored."""
    schema_hash: str
    executor: Executor
    joined: tuple[Executor, ...] = ()
    """Further executors whose members join the ensemble, each member with the same weight."""
    heads: dict[str, dict[str, Calibration]]
    """Head name to numeric profile to calibration."""
    outputs: tuple[Head, ...] = ()
    """Heads that the artefact declares, in format 4 only; in other formats the task declares them."""
    retention: dict[str, float] = {}
    """Head name to the target retention that was chosen with the artefact, 0 to 1; format 4 only."""
    training_range: Range | None = None
    training_inputs: str = ""
    """File of the moments and joint density of training inputs (``models.familiarity``); formats 3 and 4 only."""
    golden: str
    """File (.npz) of inputs and outputs that are replayed at startup."""
    golden_tolerance: float = 1e-4
    """Largest relative difference of a replayed output."""
    replay: Replay | None = None
    """Replay set; in format 2 always, in formats 3 and 4 optional."""
    sources: tuple[Source, ...]
    seeds: tuple[int, ...]
    training: dict[str, float | int | str]
    quality: dict[str, dict[str, float]]
    """Data set name to figures; each name of a figure includes its unit."""
    versions: dict[str, str]
    files: dict[str, Sha256]

    def __post_init__(self) -> None:
        if self.outputs:
            if sorted(head.name for head in self.outputs) != sorted(self.heads):
                raise ValueError("outputs and heads must have the same names")
            if any(head.kind not in ("gaussian", "categorical") for head in self.outputs):
                raise ValueError("outputs must be gaussian or categorical")
        if self.format == format_of(self.replay, self.training_inputs, self.outputs):
            return
        if self.outputs or self.format == 4:
            raise ValueError("a manifest of format 4 has heads of its own under outputs, one of another format none")
        if bool(self.training_inputs) != (self.format == 3):
            raise ValueError("a manifest of format 3 has a file under training_inputs, one of another format none")
        raise ValueError("a manifest of format 1 has no replay set, one of format 2 has one under replay")

    @property
    def executors(self) -> tuple[Executor, ...]:
        """All executors, in order, starting with ``executor``."""
        return (self.executor, *self.joined)

    @property
    def frame(self) -> str:
        """Name of the task whose code serves the artefact: ``rows`` for artefacts with heads of their own."""
        return ROWS if self.outputs else self.task

    @property
    def ensemble(self) -> bool:
        """True if there is more than one member, so that knowledge uncertainty exists."""
        return self.members * self.samples > 1


def numeric_profile(executors: Sequence[Executor], provider: str = "cpu") -> str:
    """Return the name of the numeric profile: provider, precision and layouts.

    The last digits of scores depend on it, and thresholds are bound to it.
    """
    return f"{provider}-{executors[0].precision}-{'+'.join(executor.layout for executor in executors)}"


def inputs_name(sha256: str) -> str:
    """Return the file name of replay inputs with this hash."""
    return f"replay-{sha256[:16]}.npz"
