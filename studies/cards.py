"""Rewriter of the paragraph on figures in artefacts' model cards, for use after a change of a task's texts.

    python -m studies.cards artefacts/translation/transformer-3 [...]

Weights, thresholds and all other files stay as they are; the artefact's version changes with its card.
"""

import importlib
import sys
from pathlib import Path

from models import artefact as artefacts
from models import replay
from models.building import CARD
from models.card import Words
from studies import pages

_BREAK = "\n\n"


def main() -> None:
    parser = pages.parser("cards", __doc__)
    parser.add_argument("artefacts", type=Path, nargs="+")
    for place in parser.parse_args().artefacts:
        before = artefacts.read(place)
        after = rewritten(before)
        sys.stdout.write(f"{before.tag} {'unchanged' if after.tag == before.tag else f'is now {after.tag}'}\n")


def rewritten(original: artefacts.Artefact) -> artefacts.Artefact:
    """Return the artefact with today's paragraph on figures in its card, or the same artefact if the card has it.

    The paragraph is the last one before the section on the replay set.
    """
    words: Words = importlib.import_module(f"models.tasks.{original.manifest.task}.spec").CARD
    before = original.path(CARD).read_text()
    own = replay.without_section(before)
    text = f"{own.rstrip().rpartition(_BREAK)[0]}{_BREAK}{words.figures}\n{before[len(own) :]}"
    if text == before:
        return original
    files = {name: original.path(name) for name in original.manifest.files if name != CARD}
    return artefacts.share(artefacts.write(original.directory, original.manifest, {**files, CARD: text.encode()}))


if __name__ == "__main__":
    main()
