"""Where the released Shifts code and the papers' text part: one table, two columns.

Every function of this package that depends on such a choice takes ``convention`` and reads one field here, so that
nothing else decides what "official" means. Sources: Shifts 1.0 (appendix A, C.3, D, E), Shifts 2.0 (C.2), the note on
regression metrics (section 2), and the released code of each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Area = Literal["mean", "trapezoid"]
"""Area under an error-retention curve: ``mean`` of its n + 1 points (released weather, translation and motion code) or
``trapezoid`` over [0, 1] (released vessel code; the word "area" of the papers)."""


@dataclass(frozen=True, slots=True)
class Convention:
    """One consistent reading of the definitions."""

    name: Literal["official", "paper"]
    strict_limit: bool
    """Acceptable is error < limit; otherwise error <= limit."""
    f_axis_to_one: bool
    """F-retention is drawn and integrated over k / n; otherwise over k / (n + 1), which ends at n / (n + 1)."""
    f_ties_share: bool
    """Units of equal uncertainty share their acceptability; otherwise the later input row is retained first."""
    area: Area | None
    """The area under error-retention curves; None leaves it to the task."""
    pairwise_kl: bool
    """``epkl`` of normal members is a divergence; otherwise the pairwise cross-entropy that the code calls so."""
    absent_classes_count: bool
    """Macro-F1 averages over all declared classes, those that never occur counting zero; otherwise over the classes
    that occur among labels or predictions."""
    geometric_ndsc: bool
    """nDSC is the geometric mean of precision and recall; otherwise the harmonic one."""
    strict_overlap: bool
    """A lesion is found where IoU > 0.5; otherwise where IoU >= 0.5."""
    natural_ll_fu: bool
    """LL-FU takes the natural logarithm; otherwise log10 in its first term."""
    filtered_cv: bool
    """Cv leaves out variances above 10 (squared units of the target), which ENCE keeps; otherwise it keeps all."""
    absolute_lence: bool
    """LENCE is ln |ENCE + 1 / Cv|; otherwise ln (ENCE + 1 / Cv)."""


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
