"""Serving: the way of a request from a socket to a decision."""
