"""Commands ``demur data translation`` and ``demur train translation``, with progress."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

from models.building import Provenance
from models.tasks.translation.data import pairs_folder
from models.tasks.translation.data.conversion import convert
from models.tasks.translation.networks.settings import Precision
from models.tasks.translation.training.train import FAMILIES, train_artefact
from models.workbench import Action, Option, Progress

__all__ = ["ACTIONS", "FAMILIES", "MEMBERS", "PRECISIONS", "read_files", "train_artefact"]

MEMBERS = 3
"""Default number of members, as in Shifts 1.0."""
PRECISIONS = get_args(Precision)
"""Precisions of artefacts."""


def _select(options: Mapping[str, Any], progress: Progress) -> list[Path]:
    progress(0.0, "reading")
    return pairs_folder.select(
        options["train"],
        options["valid"],
        options["out"],
        domains=options["domains"],
        shifted=options["shifted"] or (),
        without=options["without"] or (),
        provenance=Provenance(options["description"], options["licence"]),
    )


def _convert(options: Mapping[str, Any], progress: Progress) -> list[Path]:
    done = convert(
        options["files"],
        options["out"],
        domain=options["domain"],
        key=options["source"],
        clean=options["clean"],
        held=options["valid"],
        tell=lambda read: progress(0.0, f"{read:,} pairs read"),
    )
    progress(1.0, f"{done.read:,} pairs read, {done.kept:,} kept, {done.held:,} of them for validation")
    return [options["out"], *([options["valid"]] if options["valid"] else [])]


ACTIONS = (
    Action(
        name="convert",
        help="official files of pairs (SGML, columns, parallel text) into the columns that select takes",
        doing="converting",
        options=(
            Option(
                "files",
                "news-commentary*, wikititles* and WikiMatrix* as they are; of others English, then Russian, two by "
                "two: SGML (.sgm), or text of a sentence a line; plain or .gz",
                kind=Path,
                count="+",
                metavar="FILE",
            ),
            Option("--domain", "of all these pairs, such as news", required=True),
            Option("--source", "key of their source; the name of the file up to its first dot if not given"),
            Option("--clean", "keep what the released recipe keeps (needs the released extra)", kind=None),
            Option("--valid", "file for every hundredth pair, as the recipe divides them", kind=Path),
            Option("--out", "file to write, .tsv or .tsv.gz", kind=Path, required=True),
        ),
        run=_convert,
    ),
    Action(
        name="select",
        help="pairs of some domains, for training and for judging shift",
        doing="selecting",
        options=(
            Option(
                "--train",
                "files of pairs, tab-separated with the columns domain, source, en, ru; plain or .gz",
                kind=Path,
                count="+",
                required=True,
            ),
            Option("--valid", "files of pairs that are kept out of training", kind=Path, count="+", required=True),
            Option("--domains", "domains to train on", count="+", required=True),
            Option("--shifted", "domains that are judged only", count="+"),
            Option("--without", "sources to leave out, by the part of `source` before the colon", count="+"),
            Option("--description", "where the pairs come from, for the model card", default="labelled pairs"),
            Option("--licence", "of the pairs, for the model card", default="not stated"),
            Option("--out", "folder to write", kind=Path, required=True),
        ),
        run=_select,
    ),
)
"""Actions of ``demur data``."""


def read_files(directory: Path) -> Path:
    """Return the folder itself: a released ensemble is calibrated with its pairs.

    Raises:
        FileNotFoundError: ``directory`` is not a folder.
    """
    if not directory.is_dir():
        raise FileNotFoundError(f"{directory} is no folder; one with train.tsv.gz and valid.tsv.gz is needed")
    return directory
