"""Thresholds with a promise: retention, certified risk, capacity, cost; and the certificate that states it."""
