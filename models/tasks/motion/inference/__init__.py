"""From a request of the motion task to the statistics of an ensemble."""
