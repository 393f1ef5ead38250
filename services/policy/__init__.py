"""Policies: from measure and threshold to a decision, their changes, and audit draws."""
