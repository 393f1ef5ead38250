"""Entry of the registry, which the entry point ``digits`` of the group ``demur.tasks`` names."""

from services.runtime.task_entry import TaskEntry

ENTRY = TaskEntry(
    port=3011, served_model="digits.served_model:served_model", default_model="digits-mlp-3", started=False
)
