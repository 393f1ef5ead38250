"""Planning of motion ensembles: one graph of all members against a loop over the sessions of single members."""
