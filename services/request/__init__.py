"""The way of a request: validation, scheduling, decisions and metrics; knows no protocol."""
