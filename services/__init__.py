"""Serving: the way of a request from a socket to a decision."""

__version__ = "0.1.0"
