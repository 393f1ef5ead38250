"""Official data files of the vessel task: readers, writers and splits."""
