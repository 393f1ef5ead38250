"""Beam search over steps of all members: numbers in, hypotheses with their uncertainties out."""
