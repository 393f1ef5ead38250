"""Wageningen B-series open-water polynomials: thrust and torque coefficients of a fixed-pitch propeller.

Source of the numbers: M.W.C. Oosterveld and P. van Oossanen, "Further computer-analyzed data of the
Wageningen B-screw series", International Shipbuilding Progress 22 (1975), 251-262: 39 terms for K_T and 47
for K_Q at Rn = 2e6 (Tables 5) and the Reynolds corrections (Table 6). Each term is C J^s (P/D)^t
(A_E/A_0)^u Z^v.
"""

import numpy as np

from simulators.vessel.units import Floats

_KT = """
 0.00880496   0 0 0 0 | -0.204554    1 0 0 0 |  0.166351    0 1 0 0 |  0.158114    0 2 0 0
-0.147581     2 0 1 0 | -0.481497    1 1 1 0 |  0.415437    0 2 1 0 |  0.0144043   0 0 0 1
-0.0530054    2 0 0 1 |  0.0143481   0 1 0 1 |  0.0606826   1 1 0 1 | -0.0125894   0 0 1 1
 0.0109689    1 0 1 1 | -0.133698    0 3 0 0 |  0.00638407  0 6 0 0 | -0.00132718  2 6 0 0
 0.168496     3 0 1 0 | -0.0507214   0 0 2 0 |  0.0854559   2 0 2 0 | -0.0504475   3 0 2 0
 0.010465     1 6 2 0 | -0.00648272  2 6 2 0 | -0.00841728  0 3 0 1 |  0.0168424   1 3 0 1
-0.00102296   3 3 0 1 | -0.0317791   0 3 1 1 |  0.018604    1 0 2 1 | -0.00410798  0 2 2 1
-0.000606848  0 0 0 2 | -0.0049819   1 0 0 2 |  0.0025983   2 0 0 2 | -0.000560528 3 0 0 2
-0.00163652   1 2 0 2 | -0.000328787 1 6 0 2 |  0.000116502 2 6 0 2 |  0.000690904 0 0 1 2
 0.00421749   0 3 1 2 |  0.0000565229 3 6 1 2 | -0.00146564 0 3 2 2
"""
_KQ = """
 0.00379368   0 0 0 0 |  0.00886523  2 0 0 0 | -0.032241    1 1 0 0 |  0.00344778  0 2 0 0
-0.0408811    0 1 1 0 | -0.108009    1 1 1 0 | -0.0885381   2 1 1 0 |  0.188561    0 2 1 0
-0.00370871   1 0 0 1 |  0.00513696  0 1 0 1 |  0.0209449   1 1 0 1 |  0.00474319  2 1 0 1
-0.00723408   2 0 1 1 |  0.00438388  1 1 1 1 | -0.0269403   0 2 1 1 |  0.0558082   3 0 1 0
 0.0161886    0 3 1 0 |  0.00318086  1 3 1 0 |  0.015896    0 0 2 0 |  0.0471729   1 0 2 0
 0.0196283    3 0 2 0 | -0.0502782   0 1 2 0 | -0.030055    3 1 2 0 |  0.0417122   2 2 2 0
-0.0397722    0 3 2 0 | -0.00350024  0 6 2 0 | -0.0106854   3 0 0 1 |  0.00110903  3 3 0 1
-0.000313912  0 6 0 1 |  0.0035985   3 0 1 1 | -0.00142121  0 6 1 1 | -0.00383637  1 0 2 1
 0.0126803    0 2 2 1 | -0.00318278  2 3 2 1 |  0.00334268  0 6 2 1 | -0.00183491  1 1 0 2
 0.000112451  3 2 0 2 | -0.0000297228 3 6 0 2 | 0.000269551 1 0 1 2 |  0.00083265  2 0 1 2
 0.00155334   0 2 1 2 |  0.000302683 0 6 1 2 | -0.0001843   0 0 2 2 | -0.000425399 0 3 2 2
 0.0000869243 3 3 2 2 | -0.0004659   0 6 2 2 |  0.0000554194 1 6 2 2
"""


def _terms(text: str) -> Floats:
    rows = [cell.split() for line in text.strip().splitlines() for cell in line.split("|")]
    return np.array(rows, dtype=np.float64)


KT_TERMS = _terms(_KT)
"""Thrust terms [39, 5]: C, s, t, u, v."""
KQ_TERMS = _terms(_KQ)
"""Torque terms [47, 5]: C, s, t, u, v."""


def cubic(terms: Floats, pitch_ratio: float, area_ratio: float, blades: int) -> Floats:
    """Return the polynomial as a cubic in J for one propeller: coefficients [4], rising powers of J."""
    factor = terms[:, 0] * pitch_ratio ** terms[:, 2] * area_ratio ** terms[:, 3] * blades ** terms[:, 4]
    powers = terms[:, 1].astype(np.int64)
    return np.array([factor[powers == power].sum() for power in range(4)])


def reynolds_thrust(log_rn: Floats, pitch_ratio: float, area_ratio: float, blades: int) -> tuple[Floats, ...]:
    """Return Delta K_T as coefficients (1, J, J^2), each [N]; `log_rn` is log10(Rn at 0.75 R) - 0.301."""
    p, a, z, lr = pitch_ratio, area_ratio, float(blades), log_rn
    zero = np.full_like(lr, 0.000353485)
    linear = -0.00478125 * a * p + 0.0000954 * lr * z * a * p + 0.0000032049 * lr * z**2 * a * p**3
    two = -0.00333758 * a + 0.000257792 * lr**2 * a + 0.0000643192 * lr * p**6
    two = two - 0.0000110636 * lr**2 * p**6 - 0.0000276305 * lr**2 * z * a
    return zero, linear, two


def reynolds_torque(log_rn: Floats, pitch_ratio: float, area_ratio: float, blades: int) -> tuple[Floats, ...]:
    """Return Delta K_Q as coefficients (1, J, J^2), each [N]; `log_rn` as for `reynolds_thrust`."""
    p, a, z, lr = pitch_ratio, area_ratio, float(blades), log_rn
    fixed = -0.000591412 + 0.00696898 * p - 0.0000666654 * z * p**6 + 0.0160818 * a**2
    zero = fixed - 0.000938091 * lr * p - 0.00059593 * lr * p**2 + 0.0000782099 * lr**2 * p**2
    zero = zero + 0.0000230171 * lr * z * p**6 - 0.00000184341 * lr**2 * z * p**6
    zero = zero - 0.00400252 * lr * a**2 + 0.000220915 * lr**2 * a**2
    linear = -0.00000088528 * lr**2 * z * a * p
    two = 0.0000052199 * lr * z * a
    return zero, linear, two
