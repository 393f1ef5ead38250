"""Argoverse 2 recordings as scenes of the official format: sensor logs and motion-forecasting scenarios."""
