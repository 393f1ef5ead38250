"""Cards are brought up to date without a change of anything that serves."""

from pathlib import Path

from models import artefact as artefacts
from models import replay
from models.building import CARD
from studies import cards

COMMITTED = Path(__file__).parents[2] / "artefacts" / "vessel" / "dnn-1"


def test_only_the_last_paragraph_is_written_anew(tmp_path: Path) -> None:
    copied = artefacts.copy(artefacts.read(COMMITTED), tmp_path / "dnn-1")
    current = copied.path(CARD).read_text()
    own = replay.without_section(current)
    older = own.rstrip().rpartition("\n\n")[0] + "\n\nFigures as they were taken once.\n" + current[len(own) :]
    files = {name: copied.path(name) for name in copied.manifest.files if name != CARD}
    changed = artefacts.write(copied.directory, copied.manifest, {**files, CARD: older.encode()})
    again = cards.rewritten(changed)
    assert again.path(CARD).read_text() == current
    assert again.manifest.files == copied.manifest.files
    assert again.tag != changed.tag


def test_a_card_that_is_current_leaves_the_artefact_as_it_is(tmp_path: Path) -> None:
    copied = artefacts.copy(artefacts.read(COMMITTED), tmp_path / "dnn-1")
    assert cards.rewritten(copied) is copied
    assert (copied.directory / "manifest.json").read_bytes() == (COMMITTED / "manifest.json").read_bytes()
