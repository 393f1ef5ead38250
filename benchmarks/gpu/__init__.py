"""Everything that a machine with a GPU is asked: what is installed, whether it computes what it should, how fast."""
