"""Vessel power: ten features of a ship's operation to shaft power in kW (Shifts 2.0, section 4)."""
