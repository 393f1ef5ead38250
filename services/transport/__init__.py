"""Thin adapters between protocols and ``services.pipeline``; no prediction logic lives here."""
