"""Judging a file of predictions: readers turn files into ``Judged``, ``evaluate`` turns that into figures."""
