"""Artefacts of the lesion task: export, calibration, model card, replay set and import of released models."""
