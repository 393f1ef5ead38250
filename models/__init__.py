"""Models of the five tasks: arrays in, arrays out.

Nothing here knows of services, protocols, BentoML or Prometheus, and importing this package never
imports torch (training modules do, when they are imported themselves).
"""
