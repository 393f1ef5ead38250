"""The tree of errors and its one table to transport codes."""

import grpc
import pytest

from models.executors.failures import DeviceFailed
from services.runtime import errors
from services.runtime.errors import (
    DemurError,
    DeviceUnavailable,
    ExecutionFailed,
    InvalidInput,
    execution_failed,
    internal,
    status,
)


def tree(root: type[DemurError] = DemurError) -> list[type[DemurError]]:
    return [kind for child in root.__subclasses__() for kind in (child, *tree(child))]


@pytest.mark.parametrize("kind", tree(), ids=lambda kind: kind.__name__)
def test_every_error_is_in_the_table_and_in_the_drawing(kind: type[DemurError]) -> None:
    assert kind in errors._STATUS
    codes = status(kind("message"))
    assert 400 <= codes.http < 600
    assert hasattr(grpc.StatusCode, codes.grpc)
    assert codes.grpc not in ("OK", "UNKNOWN")
    assert kind.__name__ in (errors.__doc__ or "")
    assert kind.__doc__


def test_the_table_has_no_strangers() -> None:
    assert set(errors._STATUS) == set(tree())


def test_only_a_failed_model_is_the_services_fault() -> None:
    assert {kind.__name__ for kind in tree() if status(kind("m")).http == 500} == {"ExecutionFailed"}


def test_a_failed_device_names_its_failure_and_what_to_do() -> None:
    error = execution_failed(DeviceFailed("OutOfMemory"))
    assert isinstance(error, DeviceUnavailable)
    assert str(error) == (
        "the device failed (OutOfMemory), and no other provider is used instead: treat these units as deferred, or "
        "retry after 1 s on another replica"
    )
    assert error.retry_after_seconds == 1


def test_errors_are_exceptions_like_others() -> None:
    first, other = InvalidInput("same"), InvalidInput("same")
    assert str(first) == "same"
    assert first != other, "an exception is equal to itself only"
    assert len({first, other}) == 2, "and can be hashed, as the standard library expects"


@pytest.mark.parametrize("hide", [execution_failed, internal])
def test_unknown_exceptions_are_hidden_and_known_ones_are_not(hide) -> None:
    known = InvalidInput("told")
    assert hide(known) is known
    cause = ValueError("secret")
    hidden = hide(cause)
    assert isinstance(hidden, ExecutionFailed)
    assert "secret" not in str(hidden)
    assert "ValueError" in str(hidden)
    assert hidden.__cause__ is cause
