"""Differences between the released Shifts code and the papers' text, as two conventions.

Every function of this package that depends on such a choice takes ``convention`` and reads one field here, so that
"official" is defined in one place. Sources: Shifts 1.0 (appendix A, C.3, D, E), Shifts 2.0 (C.2), the note on
regression metrics (section 2), and the released code of each.
"""

from dataclasses import dataclass
from typing import Literal

Area = Literal["mean", "trapezoid"]
"""Area under an error-retention curve: ``mean`` of its n + 1 points (released weather, translation and motion code) or
``trapezoid`` over [0, 1] (released vessel code; the word "area" of the papers)."""


@dataclass(frozen=True, slots=True)
class Convention:
    """Consistent reading of the definitions."""

    name: Literal["official", "paper"]
    strict_limit: bool
    """True: acceptable is error < limit; otherwise error <= limit."""
    f_axis_to_one: bool
    """True: F-retention is drawn and integrated over k / n; otherwise over k / (n + 1), which ends at n / (n + 1)."""
    f_ties_share: bool
    """True: units of equal uncertainty share their acceptability; otherwise the later input row is retained first."""
    area: Area | None
    """Area under error-retention curves; None leaves it to the task."""
    pairwise_kl: bool
    """True: ``epkl`` of normal members is a divergence; otherwise the released pairwise cross-entropy."""
    absent_classes_count: bool
    """True: macro-F1 averages over all declared classes, those that never occur counting zero; otherwise over the
    classes that occur among labels or predictions."""
    geometric_ndsc: bool
    """True: nDSC is the geometric mean of precision and recall; otherwise the harmonic mean."""
    strict_overlap: bool
    """True: a lesion is found if IoU > 0.5; otherwise if IoU >= 0.5."""
    natural_ll_fu: bool
    """True: LL-FU uses the natural logarithm; otherwise log10 in its first term."""
    filtered_cv: bool
    """True: Cv leaves out variances above 10 (squared units of the target), unlike ENCE; otherwise it keeps all."""
    absolute_lence: bool
    """True: LENCE is ln |ENCE + 1 / Cv|; otherwise ln (ENCE + 1 / Cv)."""


OFFICIAL = Convention(
    name="official",
    strict_limit=False,
    f_axis_to_one=False,
    f_ties_share=False,
    area=None,
    pairwise_kl=False,
    absent_classes_count=False,
    geometric_ndsc=False,
    strict_overlap=False,
    natural_ll_fu=False,
    filtered_cv=True,
    absolute_lence=False,
)
PAPER = Convention(
    name="paper",
    strict_limit=True,
    f_axis_to_one=True,
    f_ties_share=True,
    area="trapezoid",
    pairwise_kl=True,
    absent_classes_count=True,
    geometric_ndsc=True,
    strict_overlap=True,
    natural_ll_fu=True,
    filtered_cv=False,
    absolute_lence=True,
)
CONVENTIONS = {convention.name: convention for convention in (OFFICIAL, PAPER)}
