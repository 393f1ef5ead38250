"""Served tasks: columns of the entries in ``services.runtime.registry``."""

from services.runtime.registry import TASKS

TENANTS = {name: task.served_model for name, task in TASKS.items()}
DEFAULT_MODELS = {name: task.default_model for name, task in TASKS.items()}
STARTED = tuple(name for name, task in TASKS.items() if task.started)
IMPORTERS = {name: task.importer for name, task in TASKS.items() if task.importer}
WORKBENCHES = {name: task.workbench for name, task in TASKS.items() if task.workbench}
PREDICTIONS = {name: task.predictions for name, task in TASKS.items() if task.predictions}
SCORERS = {name: task.scorer for name, task in TASKS.items() if task.scorer}
ROW_FILES = {name: task.row_files for name, task in TASKS.items() if task.row_files}
