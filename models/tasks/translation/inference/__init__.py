"""Inference of the translation task: from a request to the statistics of an ensemble."""
