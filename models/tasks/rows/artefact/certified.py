"""Retention from a bound on the error of the answered part, certified on the calibration rows."""

import numpy as np

from models import uncertainty
from models.building import errors_of
from models.calibration import RETENTION_LEVELS
from models.certification import units as of_units
from models.certification.selective_risk import certify
from models.tasks.rows.artefact.members import HeadPlan
from models.tasks.rows.refusal import Refused

DELTA = 0.05


def retention(plan: HeadPlan, risk: float) -> float:
    """Return the largest tabulated retention at which the risk of the answered part is certified.

    The risk is the share of wrong classes, or of errors beyond the acceptable one, among answered rows; it holds with
    95 % confidence over the draw of the calibration rows.

    Raises:
        Refused: no acceptable error is known, a risk outside 0 to 1, or no retention can be certified.
    """
    if not 0 < risk < 1:
        raise Refused(f"--risk = {risk:g}: must be a share between 0 and 1")
    chosen, head = plan.choice.chosen, plan.head
    if head.kind == "gaussian" and head.acceptable is None:
        raise Refused(
            f"--risk: target {plan.target.column} needs the largest acceptable error, in {head.error_unit}: set "
            "acceptable "
            "in the schema"
        )
    scores = uncertainty.score(chosen.predictive, chosen.measure)
    known = of_units.units(scores, errors_of(chosen.predictive, plan.labels))
    finding = certify(known, risk, DELTA, acceptable=head.acceptable)
    share = float(np.mean(of_units.answered(known.scores, finding.threshold)))
    levels = [level for level in RETENTION_LEVELS if level <= share]
    if finding.threshold is None or not levels:
        raise Refused(
            f"--risk = {risk:g}: cannot be certified for {plan.target.column} with {len(plan.labels)} rows"
            f"{': ' + finding.reason if finding.reason else ''}; bring more labelled rows, or allow more risk"
        )
    return float(levels[-1])
