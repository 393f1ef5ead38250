"""Servers of the race of transports; each runs in an environment of its own and imports ``echo`` only."""
