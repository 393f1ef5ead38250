"""Networks of the vessel task and their sizes."""
