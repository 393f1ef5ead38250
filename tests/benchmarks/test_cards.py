"""Cards are brought up to date without a change of anything that serves."""

from __future__ import annotations

import shutil
from pathlib import Path

from benchmarks import cards
from models import artefact as artefacts
from models.building import CARD

COMMITTED = Path(__file__).parents[2] / "artefacts" / "vessel" / "dnn-1"


def test_only_the_last_paragraph_is_written_anew(tmp_path: Path) -> None:
    place = tmp_path / "dnn-1"
    shutil.copytree(COMMITTED, place)
    one = artefacts.read(place)
    current = one.path(CARD).read_text()
    older = current.rstrip().rpartition("\n\n")[0] + "\n\nFigures as they were taken once.\n"
    files = {name: one.path(name) for name in one.manifest.files if name != CARD}
    changed = artefacts.write(place, one.manifest, {**files, CARD: older.encode()})
    again = cards.rewritten(changed)
    assert again.path(CARD).read_text() == current
    assert again.manifest.files == one.manifest.files
    assert again.tag != changed.tag


def test_a_card_that_is_current_leaves_the_artefact_as_it_is(tmp_path: Path) -> None:
    place = tmp_path / "dnn-1"
    shutil.copytree(COMMITTED, place)
    one = artefacts.read(place)
    assert cards.rewritten(one) is one
    assert (place / "manifest.json").read_bytes() == (COMMITTED / "manifest.json").read_bytes()
