"""Backups of ledgers, and recovery after a disaster: restore, settle, erase again."""
