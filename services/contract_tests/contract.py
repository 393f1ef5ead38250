"""Contract tests of a task as one class."""

from services.contract_tests.answers import AnswerContract
from services.contract_tests.documents import DocumentContract
from services.contract_tests.records import RecordContract
from services.contract_tests.refusals import RefusalContract


class TaskContract(DocumentContract, AnswerContract, RefusalContract, RecordContract):
    """Tests of a task whose answer is a ``UnitTable``.

    A subclass whose name begins with ``Test`` declares ``entry``, ``table`` and ``refusals``. Fixtures of the scope
    ``class`` or wider return the artefact, or its folder (``artefact``), and a request (``example``). Then pytest
    collects the tests::

        @pytest.fixture(scope="module")
        def artefact(): return Path("artefact")

        @pytest.fixture(scope="module")
        def example(): return Example(json=..., message=..., labels=...)

        class TestSignals(TaskContract):
            entry, table = ENTRY, TABLE
            refusals = {"too short": Refusal({"signals": [[0.0]]}, field="signals", code="wrong_shape")}

    The service runs in the process of the tests, with gRPC on a free port and a ledger in a temporary folder.
    """
