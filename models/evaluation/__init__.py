"""Evaluation of files of predictions: readers return labelled units, ``evaluate`` returns their figures."""
