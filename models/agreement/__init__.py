"""Statistics of reviewers: agreement, errors, error of the whole system, throughput, worth of labels."""
