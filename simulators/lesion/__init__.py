"""Simulated FLAIR and T1 brain scans with multiple sclerosis lesions; see ``docs/datasheets/lesion-simulator.md``."""
