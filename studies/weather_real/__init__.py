"""Trees with uncertainty on three real sets of forecasts and observations, against the raw ensembles and EMOS."""
