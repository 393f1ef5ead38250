"""Thin adapters between protocols and ``services.request.pipeline``, without prediction logic."""
