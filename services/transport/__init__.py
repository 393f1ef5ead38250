"""Thin adapters between protocols and ``services.request.pipeline``; no prediction logic lives here."""
