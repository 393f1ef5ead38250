"""Live monitor: follows ledgers, and publishes windows of figures with intervals over HTTP.

It only reads: all its state can be rebuilt from the ledgers. The arithmetic is in ``models.live``.
"""
