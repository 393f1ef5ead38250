"""Drift: comparison of scores with their reference, and alarms that hold at all times.

Three complementary tests:

- ``psi`` compares the scores of one window with the in-domain data of the artefact. It needs no labels and detects a
  difference that was present from the start, but has no guarantee for repeated looks.
- ``martingale`` tests whether a stream of scores has changed since it began. It needs no labels and holds for any
  number of looks. It has no reference, so it misses a stream that is different from its first unit on.
- ``risk`` tests whether the risk has risen above that of the calibration data. It needs labels, holds for any number of
  looks, and ignores a harmless shift.

``wealth`` is the statistic of the latter two, and combines replicas and strata.
"""
