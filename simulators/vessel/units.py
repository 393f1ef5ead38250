"""Physical constants and unit factors shared by the simulator, all SI unless the name says otherwise."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

KNOT = 1852.0 / 3600.0
"""m/s in one knot."""
GRAVITY = 9.81
"""m/s2, as used by Holtrop and Mennen (1982)."""
SEA_DENSITY = 1025.0
"""kg/m3 at 15 degrees C."""
SEA_VISCOSITY = 1.18831e-6
"""m2/s at 15 degrees C (ITTC)."""
AIR_DENSITY = 1.225
"""kg/m3 at 15 degrees C and sea level (ISO 15016)."""
MINUTES_PER_MONTH = 365.25 * 24 * 60 / 12
"""Minutes in a mean month, 43,830."""
MINUTES_PER_YEAR = 365.25 * 24 * 60
"""Minutes in a mean year, 525,960."""
