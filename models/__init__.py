"""Models of the five tasks: arrays in, arrays out.

Nothing here knows of services, protocols, BentoML or Prometheus, and importing this package never
imports torch (training modules do, when they are imported themselves).
"""

import os

os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
"""Else ONNX Runtime, once imported, reports its use to Microsoft: a service in a hospital must not."""
