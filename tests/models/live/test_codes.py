"""Codes of decisions and request states are those of the services that write them."""

from models.live.label_requests import OPEN_STATES, RequestState
from models.live.units import ANSWER
from services.labels.requests import STATES
from services.ledger.tables import OPEN, UNASKED
from services.policy.decision import Decision


def test_codes_are_those_of_the_services() -> None:
    assert [state.name.lower() for state in RequestState] == [*STATES, UNASKED]
    assert [state.name.lower() for state in OPEN_STATES] == list(OPEN)
    assert Decision(ANSWER) is Decision.ANSWER
