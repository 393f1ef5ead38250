"""Physical constants and unit factors of the simulator, in SI units unless the name says otherwise."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

KNOT = 1852.0 / 3600.0
"""m/s in one knot."""
GRAVITY = 9.81
"""Gravitational acceleration, m/s2, as used by Holtrop and Mennen (1982)."""
SEA_DENSITY = 1025.0
"""Density of sea water at 15 degrees C, kg/m3."""
SEA_VISCOSITY = 1.18831e-6
"""Kinematic viscosity of sea water at 15 degrees C (ITTC), m2/s."""
AIR_DENSITY = 1.225
"""Density of air at 15 degrees C and sea level (ISO 15016), kg/m3."""
MINUTES_PER_MONTH = 365.25 * 24 * 60 / 12
"""Minutes in a mean month, 43,830."""
MINUTES_PER_YEAR = 365.25 * 24 * 60
"""Minutes in a mean year, 525,960."""
