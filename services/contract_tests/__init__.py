"""Contract tests of a task, for the tests of any package; behind ``demur.testing``."""

import pytest

pytest.register_assert_rewrite(
    *(f"services.contract_tests.{name}" for name in ("answers", "documents", "records", "refusals", "service"))
)

from services.contract_tests.contract import TaskContract  # noqa: E402
from services.contract_tests.example import Example, Refusal  # noqa: E402
from services.contract_tests.proto import differences  # noqa: E402

__all__ = ["Example", "Refusal", "TaskContract", "differences"]
