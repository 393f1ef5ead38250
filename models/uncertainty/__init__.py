"""Named scalar measures of a predictive, all oriented so that larger means less certain."""

from models.uncertainty.measures import MeasureAbsent, UnknownMeasure, names, score

__all__ = ["MeasureAbsent", "UnknownMeasure", "names", "score"]
