"""Networks of the lesion task and their sizes."""
