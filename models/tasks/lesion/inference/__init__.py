"""From a request of the lesion task to the statistics of an ensemble."""
