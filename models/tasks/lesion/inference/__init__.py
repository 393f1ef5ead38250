"""Inference of the lesion task: from a request to the statistics of an ensemble."""
