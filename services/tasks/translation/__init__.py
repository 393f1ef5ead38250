"""Translation: what the service says and does that other tasks do not."""
