"""Cost of serving over the model itself, as ratios that a shared machine can check: ``python -m benchmarks``."""
