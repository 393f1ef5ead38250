"""Retention figures of a served stream with selected labels: estimators, intervals, gates."""
