"""Traces of calls: their interface (``trace``), recording, and export (``span_queue``, ``otlp``)."""
