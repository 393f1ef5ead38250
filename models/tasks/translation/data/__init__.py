"""Official data files of the translation task: readers, writers and splits."""
