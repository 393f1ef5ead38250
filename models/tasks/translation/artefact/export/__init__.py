"""Export of trained members to two graphs for all members: encoding of sentences, and one decoding step."""
