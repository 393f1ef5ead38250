"""Official data files of the lesion task: readers, writers and splits."""
