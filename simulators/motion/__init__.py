"""Simulated traffic of six different cities; see ``docs/datasheets/motion-simulator.md``."""
