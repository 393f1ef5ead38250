"""Numeric profiles that an artefact was not calibrated under: measured by its replay set, before they decide."""
