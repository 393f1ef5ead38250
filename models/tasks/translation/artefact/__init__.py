"""Artefacts of the translation task: export, calibration, model card, replay set and import of released models."""
