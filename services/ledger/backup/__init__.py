"""Backups of ledgers, and what comes after a disaster: restore, settle, forget again."""
