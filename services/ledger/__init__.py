"""What was decided, durably: segments, items, labels, requests, policies; SQLite or PostgreSQL."""
