"""Policies: decisions from measure and threshold, policy changes, and audit draws."""
