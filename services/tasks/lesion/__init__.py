"""White-matter lesions: the task-specific parts of the service."""
