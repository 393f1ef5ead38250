"""Parts of the route optimisation example: one idea a module."""
