"""Inference of the vessel task: from a request to the statistics of an ensemble."""
