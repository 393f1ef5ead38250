"""Assembly of a process from settings, artefact and task, and its BentoML service."""
