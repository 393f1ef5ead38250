"""Translation: the task-specific parts of the service."""
