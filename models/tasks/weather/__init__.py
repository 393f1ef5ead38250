"""Air temperature and precipitation class at a place and time (Shifts 1.0, section 3 and appendix C)."""
