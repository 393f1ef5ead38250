"""Packages of the tasks: spec, networks, data formats, training, inference and artefacts of each."""
