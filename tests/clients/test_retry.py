"""When a failed call is made again, without a network."""

import pytest

import demur
from demur._retry import Deadline, RetryBudget

GONE = demur.Unavailable("gone")


def pauses(retry, deadline=None, error=GONE):
    budget = RetryBudget(retry)
    waits = []
    while (pause := budget.pause(error, len(waits) + 1, deadline or Deadline(None))) is not None:
        waits.append(pause)
    return waits


def test_pauses_double_up_to_the_largest():
    waits = pauses(demur.Retry(attempts=6, initial_seconds=1, max_seconds=4))
    assert len(waits) == 5
    for pause, most in zip(waits, (1, 2, 4, 4, 4), strict=True):
        assert most / 2 <= pause <= most


def test_only_unavailable_is_retried():
    for error in (demur.Busy("b"), demur.DeadlineExceeded("d"), demur.ServiceFailure("s")):
        assert pauses(demur.Retry(), error=error) == []


def test_a_pause_past_the_deadline_is_not_begun():
    assert pauses(demur.Retry(initial_seconds=2), Deadline(0.5)) == []


def test_the_service_may_ask_for_more_time():
    error = demur.Unavailable("restarting")
    error.retry_after_seconds = 7.0
    assert pauses(demur.Retry(attempts=2), error=error) == [7.0]


def test_budget_runs_out_and_is_earned_back():
    budget = RetryBudget(demur.Retry(budget=2))
    nobody = Deadline(None)
    assert [budget.pause(GONE, 1, nobody) is None for _ in range(4)] == [False, False, True, True]
    for _ in range(9):
        budget.succeeded()
    assert budget.pause(GONE, 1, nobody) is None
    for _ in range(2):
        budget.succeeded()
    assert budget.pause(GONE, 1, nobody) is not None


@pytest.mark.parametrize("wrong", [{"attempts": 0}, {"initial_seconds": -1}, {"max_seconds": 0.01}, {"budget": -1}])
def test_half_given_policies_are_refused(wrong):
    with pytest.raises(ValueError, match="retry needs"):
        demur.Retry(**wrong)
