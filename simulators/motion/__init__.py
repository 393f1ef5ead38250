"""Simulated traffic of cities that differ; see ``docs/datasheets/motion-simulator.md``."""
