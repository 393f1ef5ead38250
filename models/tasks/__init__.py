"""One package a task: its spec, networks, data formats, simulator, training and export."""
