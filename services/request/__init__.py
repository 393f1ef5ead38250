"""Processing of a request: validation, scheduling, decisions and metrics; independent of protocols."""
