"""From a request of the weather task to the statistics of an ensemble."""
