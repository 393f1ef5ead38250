"""Inference of the motion task: from a request to the statistics of an ensemble."""
