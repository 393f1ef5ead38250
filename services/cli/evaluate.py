"""``demur evaluate``: how good predictions are, how well their uncertainty ranks them, and a report to look at."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from models.assessment.convention import CONVENTIONS
from models.evaluation.compare import Comparison, compare
from models.evaluation.evaluate import Evaluation, evaluate, plain
from models.evaluation.judged import Asked, BadFile, Judged
from services.cli.output import BadInput, ProgressLine, print_json
from services.cli.figures_table import print_tables
from services.tasks import PREDICTIONS

EXAMPLE = "demur evaluate --task regression --predictions ensemble.npz single.npz --report report"

Reader = Callable[[Path, Asked], Judged]
FORMS = {
    "generic": "models.evaluation.generic:read",
    "regression": "models.evaluation.regression:read",
    "classification": "models.evaluation.classification:read",
}
"""Files of any origin, by what they hold; the tasks' own formats are in ``services.tasks``."""
