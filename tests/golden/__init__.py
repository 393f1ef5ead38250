"""Golden bodies of all five tasks: what the service says is compared with what it said when they were recorded."""
