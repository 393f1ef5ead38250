"""Translation as a served model: English texts in, Russian hypotheses, uncertainties and decisions out."""

from collections.abc import Iterator

from models.artefact import Artefact
from models.executors.golden import Probe
from models.tasks.translation.inference import members
from models.tasks.translation.inference.members import Golden
from models.tasks.translation.spec import HEADS
from services.request.contract import Description
from services.runtime.settings import Settings
from services.tasks.translation import bodies, messages, tensors
from services.tasks.translation.decoding import Pace, Stepping
from services.tasks.translation.request import TranslationRequest
from services.tasks.translation.task import TranslationTask
from services.tasks.translation.texts import MOST_SENTENCES
from services.transport.served_model import Parts, ServedModel

_EXAMPLES = (
    "The old bridge was closed last winter, and the road is quiet now.",
    "It rains.",
    "Nobody knows where the letters went; she asked for them twice, at the station and at the post office in the town.",
)
_MEASURED = "The weather was fine, and the old road along the river was empty."
"""Sentence for measuring the speed of decoding."""


def served_model(artefact: Artefact, settings: Settings, parts: Parts) -> ServedModel:
    """Assemble the served model from a verified translation artefact."""
    manifest = artefact.manifest
    translator = members.translator(artefact, device=settings.device)
    stepping = Stepping(translator, translator.recipe.width)
    task = TranslationTask(translator, stepping, Pace(), lanes=settings.lane_count)
    description = Description(task=manifest.task, model=artefact.tag, schema=None, heads=HEADS, max_rows=MOST_SENTENCES)
    pipeline = parts.pipeline(task)

    probe = Probe(
        Golden(translator.decoder), artefact.path(manifest.golden), parts.golden_tolerance, manifest.golden_tolerance
    )

    def examples() -> Iterator[TranslationRequest]:
        for size in sorted({1, 2, translator.recipe.width}):
            yield TranslationRequest(tuple(_EXAMPLES[place % len(_EXAMPLES)] for place in range(size)))

    def warm_up() -> None:
        probe()
        stepping.measure([_MEASURED] * translator.recipe.width)

    return ServedModel(
        pipeline=pipeline,
        description=description,
        grpc=messages.binding(
            description,
            pipeline,
            quantum_rows=lambda: translator.recipe.width,
            window_chunks=settings.stream_window_chunks,
        ),
        http=bodies.binding(),
        oip=tensors.binding(ensemble=manifest.ensemble),
        warm_up=warm_up,
        examples=examples,
        probe=probe,
    )
