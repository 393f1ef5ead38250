"""Translation: English to Russian, as an n-best list of texts with confidences (Shifts 1.0, section 4)."""
