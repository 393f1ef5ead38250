"""Contract of records: decisions in the ledger, label requests for deferred units, and labels."""

from pathlib import Path

from sqlalchemy import func, select

from services.contract_tests.declared import Declared, Serve
from services.contract_tests.example import Example
from services.contract_tests.service import PROTOCOLS, Service
from services.ledger.database import Database
from services.ledger.tables import segment
from services.runtime.settings import Settings

_DEFERS_ALL = -1e30


class RecordContract(Declared):
    """Tests of the ledger and of labels."""

    def test_the_ledger_records_what_was_decided(self, serve: Serve, example: Example, tmp_path: Path) -> None:
        """Each unit once, with an id of its own; nothing of requests that decide nothing."""
        with serve(home=tmp_path) as service:
            outcomes = [service.answer(protocol, example, purpose="decide") for protocol in PROTOCOLS]
            replayed = service.answer("http", example, purpose="replay")
        ids = [unit.id for outcome in outcomes for unit in outcome.units]
        assert all(outcome.recorded for outcome in outcomes), "answers must be recorded"
        assert len(set(ids)) == len(ids), "each unit must have an id of its own"
        assert not replayed.recorded, "a replay must not be recorded"
        url = Settings(home=tmp_path, task=service.task).ledger_url
        assert url is not None
        reading = Database(url).reading()
        with reading.connect() as connection:
            decided = select(func.sum(segment.c.count)).where(segment.c.purpose == "decide")
            assert connection.execute(decided).scalar() == len(ids), "units in the ledger"
        reading.dispose()

    def test_labels_of_the_head_are_accepted(self, service: Service, example: Example) -> None:
        """A label of each unit is taken, and taken once; another value is refused with the name of the field."""
        units = service.answer("http", example).units
        labels = [
            {"unit": unit.id, "value": label, "source": "volunteered"}
            for unit, label in zip(units, example.labels, strict=True)
        ]
        for outcome in ("accepted", "duplicate"):
            reply = service.post("/v1/labels", json={"labels": labels}).json()
            assert not reply.get("rejected"), f"labels of the example are rejected: {reply}"
            assert set(reply["outcomes"]) == {outcome}, reply
        wrong = [labels[0] | {"value": self.wrong_label}]
        (rejected,) = service.post("/v1/labels", json={"labels": wrong}).json()["rejected"]
        assert rejected["error"]["code"], rejected
        assert rejected["error"]["message"], rejected

    def test_deferred_units_wait_for_a_label(self, serve: Serve, example: Example, tmp_path: Path) -> None:
        """Reviewers claim them, and callers get the label as the resolution."""
        with serve(home=tmp_path, fixed_threshold=_DEFERS_ALL) as service:
            units = service.answer("http", example).units
            truth = dict(zip((unit.id for unit in units), example.labels, strict=True))
            requests = service.post("/v1/requests/claim", json={"count": len(units)}).json()["requests"]
            assert len(requests) == len(units), "each deferred unit must have a label request"
            for request, label in zip(requests, truth.values(), strict=True):
                body = {"lease": request["lease"], "value": label}
                reply = service.post(f"/v1/requests/{request['request']}/submit", json=body)
                assert reply.status_code == 200, reply.text
            states = [service.get(f"/v1/units/{unit}/resolution").json() for unit in truth]
        assert all(state.get("value") is not None for state in states), f"labels must be the resolution; {states[0]}"
