"""Reader of prediction files of the vessel task: normal distributions, scored tables, and the submission."""

from pathlib import Path

from models.evaluation import labels, regression, scored
from models.evaluation.unit_errors import BadFile, ErrorOptions, UnitErrors
from models.tasks.vessel.data import submission
from models.tasks.vessel.spec import POWER, rules

OPTIONS = regression.OPTIONS | {"ground_truth"}
"""Options of ``ErrorOptions`` that apply besides error, limit, groups and convention."""


def read(path: Path, asked: ErrorOptions) -> UnitErrors:
    """Read an NPZ file, a table of ``demur score``, or the benchmark's submission (``.json``).

    NPZ has ``members`` [M, N, 2] (mean kW, variance kW²) and ``target`` [N] (kW). The labels of a submission are in the
    companion ``ground_truth``.

    Raises:
        BadFile: see the readers of regression, of tables and of the submission.
    """
    power = regression.Quantity("vessel", POWER.unit, POWER.acceptable, rules(asked.convention), lower=POWER.lower)
    if path.suffix == ".json":
        return _submission(path, asked, power)
    if "ground_truth" in asked.companions:
        raise BadFile(f"{path} holds the labels itself: leave --ground-truth out, it is for submissions (.json)")
    if scored.is_table(path):
        return regression.read_scored(path, asked, power, submission.LABEL)
    return regression.read_as(path, asked, power)


def _submission(path: Path, asked: ErrorOptions, power: regression.Quantity) -> UnitErrors:
    truth = labels.read(path, asked, submission.LABEL)
    ids, mean, uncertainty = submission.read(path)
    order = labels.places(path, ids, truth)
    whole = UnitErrors(
        power.task, str(path), errors={}, measures={}, shifted=truth.shifted, groups=truth.groups, rules=power.rules
    )
    return regression.judge_points(whole, mean[order], truth.values, uncertainty[order], asked, power)
