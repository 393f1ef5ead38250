"""The tasks that are served: one line each, and no other code outside a task's own files names it."""

from __future__ import annotations

TENANTS = {
    "lesion": "services.tasks.lesion.tenant:tenant",
    "motion": "services.tasks.motion.tenant:tenant",
    "translation": "services.tasks.translation.tenant:tenant",
    "vessel": "services.tasks.vessel:tenant",
    "weather": "services.tasks.weather:tenant",
}
"""Task name to the function that assembles its tenant from an artefact."""

DEFAULT_MODELS = {
    "lesion": "lesion-unet-5",
    "motion": "motion-bc-5",
    "translation": "translation-transformer-3",
    "vessel": "vessel-dnn-10",
    "weather": "weather-catboost-10",
}
"""Task name to the reference artefact that is served unless another is named."""

IMPORTERS = {
    "lesion": "models.tasks.lesion.artefact.released:import_released",
    "motion": "models.tasks.motion.artefact.released:import_released",
    "translation": "models.tasks.translation.artefact.importing:import_released",
    "vessel": "models.tasks.vessel.artefact.released:import_released",
    "weather": "models.tasks.weather.artefact.released:import_released",
}
"""Task name to the function that turns a released checkpoint folder into an artefact folder."""

WORKBENCHES = {
    "lesion": "models.tasks.lesion.training.workbench",
    "motion": "models.tasks.motion.training.workbench",
    "translation": "models.tasks.translation.training.workbench",
    "vessel": "models.tasks.vessel.training.workbench",
    "weather": "models.tasks.weather.training.workbench",
}
"""Task name to the module behind ``demur data`` and ``demur train``."""

PREDICTIONS = {
    "lesion": "models.tasks.lesion.data.predictions:read",
    "motion": "models.tasks.motion.data.predictions:read",
    "translation": "models.tasks.translation.data.predictions:read",
    "vessel": "models.tasks.vessel.data.predictions:read",
    "weather": "models.tasks.weather.data.predictions:read",
}
"""Task name to the reader of its prediction files behind ``demur evaluate``."""

SCORERS = {
    "lesion": "services.tasks.lesion.score:SCORER",
    "motion": "services.tasks.motion.score:SCORER",
    "translation": "services.tasks.translation.score:SCORER",
}
"""Task name to what scores its files behind `demur score`; a task that is not here scores rows."""

ROW_FILES = {
    "vessel": "models.tasks.vessel.data.submission:FILES",
    "weather": "models.tasks.weather.data.submission:FILES",
}
"""Task name to what it says of its files of rows: columns of labels, and the benchmark's submission."""
