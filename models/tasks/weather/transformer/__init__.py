"""FT-Transformer for rows of weather features: both heads in one network (Gorishniy et al. 2021)."""
