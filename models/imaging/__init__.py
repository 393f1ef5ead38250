"""Medical image files: NIfTI headers, volumes and orientation."""
