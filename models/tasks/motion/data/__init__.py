"""Official data files of the motion task: readers, writers and splits."""
