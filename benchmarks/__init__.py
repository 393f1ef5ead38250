"""What serving costs over the model itself: ``python -m benchmarks``. Ratios, so that a shared machine can check them."""
