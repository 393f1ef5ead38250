"""From a request of the vessel task to the statistics of an ensemble."""
