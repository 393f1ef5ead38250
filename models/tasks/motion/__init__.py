"""Motion: the next five seconds of a vehicle, as weighted trajectories in metres (Shifts 1.0, section 5)."""
