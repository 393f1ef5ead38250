"""Trained members to graphs: one that reads sentences, one that says the next token, each for all members."""
