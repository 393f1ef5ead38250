"""Artefacts of the motion task: export, calibration, model card, replay set and import of released models."""
