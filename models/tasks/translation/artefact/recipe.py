"""What a translation artefact says of its own use: ``recipe.json`` beside its graphs, hashed with it."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from models import recipe_file
from models.artefact import Artefact
from models.recipe_file import RECIPE, encode
from models.tasks.translation.inference.decoding.rules import Rules
from models.tasks.translation.text.tokens import FIRST_MARK

Positive = Annotated[int, msgspec.Meta(ge=1)]

__all__ = ["RECIPE", "Recipe", "encode", "read"]


class Recipe(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How texts become tokens, and how a search goes."""

    tokens: Literal["pieces", "released"] = "pieces"
    """``pieces``: SentencePiece, with marks for literals. ``released``: Moses, BPE and two dictionaries."""
    source: tuple[int, ...] = ()
    """Of ``pieces``: which piece each token of the source side is."""
    target: tuple[int, ...] = ()
    """Of ``pieces``: which piece each token of the target side is."""
    marks: Annotated[int, msgspec.Meta(ge=0)] = 0
    """Tokens that stand for literals, the first of them 4."""
    forbidden: tuple[int, ...] = ()
    """Tokens that are never said."""
    beam: Positive = 5
    """Hypotheses of a sentence."""
    longest: Positive = 201
    """Tokens of a hypothesis at most ..."""
    longest_factor: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    """... and so many times those of its sentence, and ten more; 0: the first alone counts."""
    longest_sentence: Positive = 250
    """Tokens of a sentence; longer ones are cut."""
    width: Positive = 16
    """Sentences that are decoded in one pass, at most."""
    candidates: Positive = 10
    """Tokens that the step graph tells of each hypothesis."""
    typical: dict[str, tuple[float, float]] = {}
    """Appearance of a sentence (``appearance.FEATURES``) to where training sentences lay: the middle 99 %."""

    def __post_init__(self) -> None:
        self.rules  # noqa: B018  refuses impossible ones

    @property
    def rules(self) -> Rules:
        """Of the search."""
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
        ArtefactError: there is none, or it is not one.
    """
    return recipe_file.read(artefact, Recipe)
