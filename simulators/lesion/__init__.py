"""Simulated FLAIR and T1 brains with lesions of multiple sclerosis; see ``docs/datasheets/lesion-simulator.md``."""
