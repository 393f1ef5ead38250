"""From a request of the translation task to the statistics of an ensemble."""
