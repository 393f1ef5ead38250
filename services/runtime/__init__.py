"""Errors, settings, logging, life cycle, processes and files, for use by every other package."""
