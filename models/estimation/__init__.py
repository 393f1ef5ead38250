"""Retention figures of a served stream whose labels were chosen: estimators, intervals, gates."""
