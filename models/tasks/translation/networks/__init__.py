"""Transformers of translation, in torch."""
