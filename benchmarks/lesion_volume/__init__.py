"""Benchmark of whole scans against the bare runs of their windows: time, memory, and scans that share a device."""
