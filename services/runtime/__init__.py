"""Errors, settings, logging, life cycle, processes, files: what every other room may use."""
