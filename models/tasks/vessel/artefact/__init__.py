"""Artefacts of the vessel task: export, calibration, model card, replay set and import of released models."""
