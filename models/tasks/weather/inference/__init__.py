"""Inference of the weather task: from a request to the statistics of an ensemble."""
