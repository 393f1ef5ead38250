"""Named scalar measures of a predictive, all oriented so that larger means less certain."""

from models.uncertainty.measures import names, refuse_labelled, score
from models.uncertainty.refusals import MeasureAbsent, NeedsLabel, UnknownMeasure

__all__ = ["MeasureAbsent", "NeedsLabel", "UnknownMeasure", "names", "refuse_labelled", "score"]
