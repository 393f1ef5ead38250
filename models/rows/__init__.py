"""Artefacts whose units are rows of named columns: members, executors, replay sets; common to all tasks of rows."""
