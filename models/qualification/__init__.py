"""Carry calibration from the profile that made it to another one, by the scores of the same units under both."""
