"""The state machine of requests: exactly the drawn changes, by whom and with what they need."""

import itertools
from contextlib import suppress

import pytest

from services.labels.requests import GIVE_UP, MOVES, SKIP, STATES, Move, next_state
from services.runtime.errors import Conflict, InvalidInput

DRAWN = {
    "claim": {("requested", "claimed")},
    "extend": {("claimed", "claimed")},
    "release": {("claimed", "requested")},
    "lease over": {("claimed", "requested")},
    "skip": {("claimed", "skipped")},
    "give up": {("claimed", "unlabelable")},
    "submit": {("claimed", "labelled"), ("requested", "labelled")},
    "label": {(s, "labelled") for s in ("requested", "claimed", "skipped", "expired", "unlabelable")},
    "expire": {("requested", "expired")},
    "second phase": {("skipped", "requested"), ("expired", "requested")},
}


def test_there_are_these_changes_and_no_others() -> None:
    possible: dict[str, set[tuple[str, str]]] = {move.name: set() for move in MOVES}
    for state, move in itertools.product(STATES, MOVES):
        with suppress(Conflict):
            possible[move.name].add((state, next_state(state, move, holds=True, reason="because")))
    assert possible == DRAWN


def test_nothing_leaves_labelled() -> None:
    assert not any("labelled" in move.sources for move in MOVES)


@pytest.mark.parametrize("move", [move for move in MOVES if move.who == "holder"], ids=lambda move: move.name)
def test_what_the_holder_does_needs_the_lease(move: Move) -> None:
    with pytest.raises(Conflict, match="claim again") as caught:
        next_state("claimed", move, reason="because")
    assert caught.value.code == "lease_lost"


@pytest.mark.parametrize("move", [SKIP, GIVE_UP], ids=lambda move: move.name)
def test_who_leaves_a_request_says_why(move: Move) -> None:
    with pytest.raises(InvalidInput, match="must not be empty to"):
        next_state("claimed", move, holds=True, reason="  ")
    with pytest.raises(InvalidInput, match="256 characters"):
        next_state("claimed", move, holds=True, reason="r" * 256)


def test_what_stands_for_others_is_not_skipped_again() -> None:
    with pytest.raises(Conflict, match="represents others") as caught:
        next_state("claimed", SKIP, holds=True, reason="hard", must_complete=True)
    assert caught.value.code == "must_complete"
    assert next_state("claimed", GIVE_UP, holds=True, reason="lost", must_complete=True) == "unlabelable"


def test_a_change_in_a_wrong_state_says_which_states_are_right() -> None:
    with pytest.raises(Conflict, match="state = labelled: must be claimed to skip") as caught:
        next_state("labelled", SKIP, holds=True, reason="because")
    assert caught.value.code == "wrong_state"
