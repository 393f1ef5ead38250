"""Reader of prediction files of the weather task: arrays of both heads, scored tables, and the submission.

Temperatures are normal distributions, precipitation is class probabilities; the submission has temperatures only.
"""

from pathlib import Path

from models.assessment.figures import Rules
from models.evaluation import classification, labels, regression, scored
from models.evaluation.files import read_npz
from models.evaluation.table import column_names
from models.evaluation.unit_errors import BadFile, ErrorOptions, UnitErrors
from models.tasks.weather.data import submission
from models.tasks.weather.data.features import FACT_CLASS, FACT_TEMPERATURE
from models.tasks.weather.spec import CLASSES, CODE_STEP, HEADS, PRECIPITATION, TEMPERATURE

OPTIONS = regression.OPTIONS | {"ground_truth", "head"}
"""Options of ``ErrorOptions`` that apply besides error, limit, groups and convention."""


def read(path: Path, asked: ErrorOptions) -> UnitErrors:
    """Read an NPZ file, a table of ``demur score``, or the benchmark's submission.

    NPZ has ``members`` [M, N, 2] (mean °C, variance °C²) or [M, N, 9] (class probabilities), and ``target`` [N].
    ``asked.head`` selects a head of a table. The labels of a submission are in the companion ``ground_truth``.

    Raises:
        BadFile: the file is none of these; or see the readers of regression, classification, tables and the submission.
    """
    temperature = regression.Quantity(
        "weather",
        TEMPERATURE.unit,
        TEMPERATURE.acceptable,
        Rules(asked.convention),
        lower=TEMPERATURE.lower,
        upper=TEMPERATURE.upper,
        drops_large_variances=True,
    )
    if submission.is_submission(path):
        _refuse(path, asked.head is not None, "is a submission, of temperatures", "head")
        return _submission(path, asked, temperature)
    _refuse(path, "ground_truth" in asked.companions, "holds the labels itself", "ground-truth")
    if scored.is_table(path):
        return _table(path, asked, temperature)
    _refuse(path, asked.head is not None, "holds one head", "head")
    return _arrays(path, asked, temperature)


def _submission(path: Path, asked: ErrorOptions, temperature: regression.Quantity) -> UnitErrors:
    truth = labels.read(path, asked, FACT_TEMPERATURE)
    ids, mean, uncertainty = submission.read(path)
    by_number = labels.Labels(
        truth.path, [str(row + 1) for row in range(len(truth))], truth.values, truth.shifted, truth.groups
    )
    order = labels.places(path, [str(one) for one in ids.tolist()], by_number)
    whole = UnitErrors(
        temperature.task,
        str(path),
        errors={},
        measures={},
        shifted=truth.shifted,
        groups=truth.groups,
        rules=temperature.rules,
    )
    return regression.judge_points(whole, mean[order], truth.values, uncertainty[order], asked, temperature)


def _table(path: Path, asked: ErrorOptions, temperature: regression.Quantity) -> UnitErrors:
    have = column_names(path)
    there = [head.name for head in HEADS if f"{head.name}.uncertainty" in have]
    if not there:
        raise BadFile(f"{path}: no head is there: columns such as {TEMPERATURE.name}.uncertainty are needed")
    name = asked.head or there[0]
    if name not in there:
        raise BadFile(f"{path}: --head {name} is not there; the file has {', '.join(there)}")
    if name == PRECIPITATION.name:
        _refuse(path, asked.bins is not None, "holds classes, which have no calibration bins", "bins")
        return classification.read_scored(path, asked, "weather", FACT_CLASS, f"{name}.", CLASSES, CODE_STEP)
    return regression.read_scored(path, asked, temperature, FACT_TEMPERATURE, f"{name}.")


def _arrays(path: Path, asked: ErrorOptions, temperature: regression.Quantity) -> UnitErrors:
    arrays = read_npz(path)
    members = arrays.get("members")
    if members is not None and members.ndim == 3 and members.shape[2] == CLASSES:
        _refuse(path, asked.bins is not None, "holds classes, which have no calibration bins", "bins")
        return classification.read_as(path, asked, "weather", arrays)
    if members is not None and members.ndim == 3 and members.shape[2] != 2:
        raise BadFile(
            f"{path}: members has the shape {list(members.shape)}; [M, N, 2] (mean °C, variance °C²) or "
            f"[M, N, {CLASSES}] (probabilities of the precipitation classes) is needed"
        )
    return regression.read_as(path, asked, temperature, arrays)


def _refuse(path: Path, wrong: bool, why: str, option: str) -> None:
    if wrong:
        raise BadFile(f"{path} {why}: leave --{option} out")
