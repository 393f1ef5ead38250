"""Whole scans against the bare runs of their windows: time, memory, and how scans share a device."""
