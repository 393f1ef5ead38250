"""Artefacts of the weather task: export, calibration, model card, replay set and import of released models."""
