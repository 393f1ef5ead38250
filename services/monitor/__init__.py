"""The monitor: follows ledgers and says what deferral costs and saves, with intervals, or why that is not known.

It reads, and writes nothing: all it holds can be made again from the ledgers. The statistics are those of
``models.estimation`` and ``models.drift``.
"""
