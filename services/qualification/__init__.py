"""Qualification: check of numeric profiles that an artefact was not calibrated under, by replaying stored inputs."""
