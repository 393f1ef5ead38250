"""Transfer of a calibration to another numeric profile, from scores of the same units under both."""
