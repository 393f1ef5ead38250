"""Models of the five tasks: arrays in, arrays out.

This package is independent of services, protocols, BentoML and Prometheus. Importing it never imports torch, except
for training modules, which do so when they are imported.
"""

import os

os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
"""Setting without which ONNX Runtime reports its use to Microsoft, which a hospital does not permit."""
