"""Parts of the route optimisation example, one subject per module."""
