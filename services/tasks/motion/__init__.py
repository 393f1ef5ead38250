"""Vehicle motion: the task-specific parts of the service."""
