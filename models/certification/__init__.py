"""Thresholds with a guarantee (retention, certified risk, capacity, cost) and their certificates."""
