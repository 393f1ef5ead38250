"""Traces of calls: what the way of a request tells them (``trace``), and how they leave the process (``otlp``)."""
