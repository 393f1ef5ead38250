"""Durable record of decisions: segments, items, labels, requests and policies, in SQLite or PostgreSQL."""
