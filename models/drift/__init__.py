"""Drift: scores against their reference, and alarms that may be looked at all the time.

Three questions, three answers, none of which replaces another:

- ``psi``: do scores lie elsewhere than on the in-domain data of the artefact? Needs no labels. A test of one window:
  sees a difference that was there from the start, promises nothing to whoever looks again and again.
- ``martingale``: has the stream of scores changed since it began? Needs no labels, may be looked at for ever. Knows no
  reference, so a stream that is different from its first unit on looks quiet.
- ``risk``: has the risk risen above what calibration found? Needs labels, may be looked at for ever, says nothing of a
  shift that does no harm.

``wealth`` is what the latter two alarm by, and how replicas and strata are combined.
"""
