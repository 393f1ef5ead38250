"""White-matter lesions: brain volumes to voxel masks, probabilities and uncertainties (Shifts 2.0, section 3)."""
