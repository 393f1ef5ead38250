"""The tasks that are served: one line each, and nothing else outside a task's own files names it."""

from __future__ import annotations

TENANTS = {
    "vessel": "services.tasks.vessel:tenant",
}
"""Task name to the function that assembles its tenant from an artefact."""

DEFAULT_MODELS = {
    "vessel": "vessel-dnn-10",
}
"""Task name to the reference artefact that is served unless another is named."""
