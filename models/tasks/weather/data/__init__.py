"""Official data files of the weather task: readers, writers and splits."""
