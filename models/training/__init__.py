"""Training that all tasks share: the loop, checkpoints and resuming, members in parallel."""
