"""Closed ranges of the numbers that settings may have."""

RANGES = (
    ("monitor_port", 0, 65535),
    ("review_port", 0, 65535),
    ("monitor_last_units", 100, 10**7),
    ("monitor_exact_units", 0, 10**7),
    ("monitor_alpha", 1e-6, 0.5),
    ("monitor_seconds", 0.05, 60),
    ("probe_port", 0, 65535),
    ("max_header_bytes", 1024, 1 << 20),
    ("max_connections", 1, 10**6),
    ("max_connection_calls", 1, 10**6),
    ("slow_seconds", 0.1, 3600),
    ("message_seconds", 0.1, 86400),
    ("http_port", 0, 65535),
    ("grpc_port", 0, 65535),
    ("lanes", 0, 1024),
    ("qualify_seconds", 0, 3600),
    ("intra_op_threads", 1, 1024),
    ("device_index", 0, 1023),
    ("device_memory_bytes", 0, 2**63),
    ("audit_rate", 0.0001, 1),
    ("audit_floor", 0.01, 1),
    ("ledger_deadline_seconds", 0.001, 60),
    ("journal_bytes", 1 << 16, 2**63),
    ("explore_bytes", 0, 2**63),
    ("explore_seconds", 0, 86400),
    ("retention_days", 0, 36500),
    ("request_days", 0.001, 36500),
    ("second_phase", 0, 1),
    ("second_opinions", 0, 1),
    ("known_units", 0, 0.5),
    ("max_rows", 1, 2**31),
    ("max_message_bytes", 1024, 2**31 - 1),
    ("max_upload_bytes", 1024, 2**40),
    ("inline_bytes", 0, 2**40),
    ("queue_seconds", 0.001, 1e6),
    ("queue_bytes", 1, 2**63),
    ("lane_calls", 1, 10**6),
    ("waiting_calls", 1, 10**5),
    ("stream_window_chunks", 1, 1024),
    ("request_seconds", 0.001, 86400),
    ("drain_seconds", 0, 86400),
    ("job_seconds", 0, 1e7),
    ("max_jobs", 1, 10**6),
    ("max_job_bytes", 1, 2**63),
    ("max_connection_age_seconds", 1, 1e6),
)
"""Closed ranges of numbers, as (setting, least, largest)."""


def allowed_range(name: str) -> tuple[float, float]:
    """Return the least and the largest value of a setting.

    Raises:
        KeyError: the setting is no number, or all numbers are allowed.
    """
    return {setting: (float(least), float(largest)) for setting, least, largest in RANGES}[name]
