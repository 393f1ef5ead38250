"""Serving recipe of a translation artefact: ``recipe.json`` beside its graphs, hashed with it."""

from typing import Annotated, Literal

import msgspec

from models import recipe_file
from models.artefact import Artefact
from models.recipe_file import RECIPE, encode
from models.tasks.translation.inference.decoding.beams import Rules
from models.tasks.translation.text.tokens import FIRST_MARK

Positive = Annotated[int, msgspec.Meta(ge=1)]

__all__ = ["RECIPE", "Recipe", "encode", "read"]


class Recipe(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Parameters of tokenisation and of the search."""

    tokens: Literal["pieces", "released"] = "pieces"
    """Tokeniser. ``pieces``: SentencePiece, with marks for literals. ``released``: Moses, BPE and two dictionaries."""
    source: tuple[int, ...] = ()
    """Piece of each token of the source side, for ``pieces``."""
    target: tuple[int, ...] = ()
    """Piece of each token of the target side, for ``pieces``."""
    marks: Annotated[int, msgspec.Meta(ge=0)] = 0
    """Number of tokens that stand for literals; the first is token 4."""
    forbidden: tuple[int, ...] = ()
    """Tokens that are never generated."""
    beam: Positive = 5
    """Number of hypotheses per sentence."""
    longest: Positive = 201
    """Largest number of tokens of a hypothesis."""
    longest_factor: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    """Further limit of a hypothesis: this factor times the tokens of its sentence, plus ten; 0: only ``longest``
    applies.
    """
    longest_sentence: Positive = 250
    """Largest number of tokens of a sentence; longer ones are split."""
    width: Positive = 16
    """Largest number of sentences that are decoded in one pass."""
    candidates: Positive = 10
    """Number of candidate tokens of the decoder graph per hypothesis."""
    typical: dict[str, tuple[float, float]] = {}
    """Range of the middle 99 % of training sentences, by feature of a sentence's appearance
    (``appearance.FEATURES``).
    """

    def __post_init__(self) -> None:
        self.rules  # noqa: B018  refuses impossible ones

    @property
    def rules(self) -> Rules:
        """Rules of the search."""
        return Rules(
            self.beam,
            self.longest,
            self.longest_factor,
            range(FIRST_MARK, FIRST_MARK + self.marks),
            self.forbidden,
        )


def read(artefact: Artefact) -> Recipe:
    """Return the recipe of a verified artefact.

    Raises:
        ArtefactError: the recipe is missing or invalid.
    """
    return recipe_file.read(artefact, Recipe)
