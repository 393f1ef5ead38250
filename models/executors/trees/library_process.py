"""CatBoost in a process of its own, which ends with its last use.

A service whose tables replace the library needs it for a moment at start only; imported there, it would keep about
120 MiB until the service ends. The process is a new interpreter (``python -m models.executors.trees.library_process``),
since a fork would copy the locks of threads. Messages are MessagePack of the structs below: nothing is unpickled.
"""

import os
import subprocess
import sys
import threading
import weakref
from collections.abc import Sequence
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from models.artefact import ArtefactError
from models.executors.trees.library import InProcess
from models.executors.trees.model import TreeModel
from models.executors.trees.virtual import Cut
from models.head import Head
from models.schema import Feature, Schema

LIMIT_SECONDS = 120.0
"""Longest time of one answer; models of twenty thousand trees are opened in two seconds."""


class _Name(msgspec.Struct, frozen=True):
    """Opened model, and how it is cut."""

    path: str
    head: str
    ends: tuple[int, ...] = ()
    weights: tuple[float, ...] = ()


class _Rows(msgspec.Struct, frozen=True):
    """float32 [n, F]."""

    columns: int
    values: bytes


class _Open(msgspec.Struct, frozen=True, tag=True):
    path: str
    head: Head
    features: tuple[Feature, ...]
    metadata: tuple[str, ...]


class _Pieces(msgspec.Struct, frozen=True, tag=True):
    model: _Name
    rows: _Rows


class _Release(msgspec.Struct, frozen=True, tag=True):
    model: _Name


class _Seconds(msgspec.Struct, frozen=True, tag=True):
    models: tuple[_Name, ...]
    rows: _Rows
    threads: int
    repeats: int


class _Opened(msgspec.Struct, frozen=True, tag=True):
    trees: int
    classes: tuple[int, ...]
    shrinkage: float | None


class _Sums(msgspec.Struct, frozen=True, tag=True):
    shape: tuple[int, int, int]
    values: bytes


class _Released(msgspec.Struct, frozen=True, tag=True):
    pass


class _Timed(msgspec.Struct, frozen=True, tag=True):
    seconds: float


class _Refused(msgspec.Struct, frozen=True, tag=True):
    """The artefact is refused (``ArtefactError``)."""

    message: str


class _Failed(msgspec.Struct, frozen=True, tag=True):
    """Any other error, by class and text."""

    message: str


_Request = _Open | _Pieces | _Release | _Seconds
_Answer = _Opened | _Sums | _Released | _Timed | _Refused | _Failed
_Expected = TypeVar("_Expected", _Opened, _Sums, _Released, _Timed)


class LibraryProcess:
    """The library in a process of its own. A ``Library``; its models have no ``native``.

    The process ends with ``close``, with this object, or with the process that started it.
    """

    def __init__(self, command: Sequence[str] = (), limit_seconds: float = LIMIT_SECONDS) -> None:
        """Start the process; nothing waits for it before the first answer.

        Args:
            command: command that serves the descriptor whose number is appended to it; by default, this module's.
            limit_seconds: longest time of one answer, after which the process is killed.

        Raises:
            OSError: no process can be started.
        """
        self._limit = limit_seconds
        self._connection, theirs = Pipe()
        with theirs:
            self._process = subprocess.Popen(
                [*(command or (sys.executable, "-m", __spec__.name)), str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                # modules are found as here, wherever the interpreter was started and with what path
                env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                start_new_session=True,  # an interrupt of the terminal is for the service, which then ends this
            )
        self._end = weakref.finalize(self, _end, self._process, self._connection)

    def open(self, path: Path, head: Head, schema: Schema) -> TreeModel:
        """See ``open_model``.

        Raises:
            ArtefactError: as ``open_model``; also if the process failed.
        """
        opened = self._call(_Open(str(path), head, schema.features, schema.metadata), _Opened, path)
        return TreeModel(path, None, head, opened.trees, np.array(opened.classes, np.intp), opened.shrinkage)

    def pieces(self, model: TreeModel, how: Cut, rows: NDArray[np.float32]) -> NDArray[np.float64]:
        sums = self._call(_Pieces(_named(model, how), _sent(rows)), _Sums, model.path)
        return np.frombuffer(sums.values, np.float64).reshape(sums.shape)

    def release(self, model: TreeModel) -> TreeModel:
        self._call(_Release(_Name(str(model.path), model.head.name)), _Released, model.path)
        return model

    def seconds(
        self, models: Sequence[tuple[TreeModel, Cut]], rows: NDArray[np.float32], threads: int, repeats: int
    ) -> float:
        named = tuple(_named(model, how) for model, how in models)
        return self._call(_Seconds(named, _sent(rows), threads, repeats), _Timed, models[0][0].path).seconds

    def close(self) -> None:
        """End the process; idempotent."""
        self._end()

    def _call(self, request: _Request, expected: type[_Expected], path: Path) -> _Expected:
        late = threading.Event()

        def end_it() -> None:
            late.set()
            self._process.kill()

        timer = threading.Timer(self._limit, end_it)  # covers a process that stops in the middle of an answer
        timer.daemon = True
        timer.start()
        try:
            self._connection.send_bytes(msgspec.msgpack.encode(request))
            answer = msgspec.msgpack.decode(self._connection.recv_bytes(), type=_Answer)
        except (EOFError, OSError, msgspec.MsgspecError) as error:
            why = f"did not answer within {self._limit:g} s" if late.is_set() else self._failure(error)
            raise ArtefactError(
                f"{path}: the process that checks models with CatBoost {why}; start again, with more memory if the "
                "system ended it"
            ) from error
        finally:
            timer.cancel()
        if isinstance(answer, _Refused):
            raise ArtefactError(answer.message)
        if not isinstance(answer, expected):
            raise ArtefactError(f"{path}: cannot be checked with CatBoost: {getattr(answer, 'message', answer)}")
        return answer

    def _failure(self, error: Exception) -> str:
        self.close()
        code = self._process.returncode
        if code is not None and code < 0:
            return f"was ended by signal {-code}"
        return f"ended with exit status {code}" if isinstance(error, EOFError | OSError) else f"gave no answer: {error}"


def _end(process: subprocess.Popen[bytes], connection: Connection) -> None:
    """Close the connection, at which the process ends; wait a second, then kill it."""
    connection.close()
    try:
        process.wait(1.0)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _named(model: TreeModel, how: Cut) -> _Name:
    return _Name(str(model.path), model.head.name, how.ends, tuple(how.weights.tolist()))


def _sent(rows: NDArray[np.float32]) -> _Rows:
    return _Rows(rows.shape[1], np.ascontiguousarray(rows, np.float32).tobytes())


class _Served:
    """Models that are open in the process, and its answers."""

    def __init__(self) -> None:
        self._library = InProcess()
        self._models: dict[tuple[str, str], TreeModel] = {}

    def answer(self, request: _Request) -> _Answer:
        try:
            return self._answered(request)
        except ArtefactError as error:
            return _Refused(str(error))
        except Exception as error:  # the caller says which file it was
            return _Failed(f"{type(error).__name__}: {error}")

    def _answered(self, request: _Request) -> _Answer:
        match request:
            case _Open():
                schema = Schema(request.features, request.metadata)
                model = self._library.open(Path(request.path), request.head, schema)
                self._models[request.path, request.head.name] = model
                return _Opened(model.trees, tuple(model.classes.tolist()), model.shrinkage)
            case _Pieces():
                sums = self._library.pieces(*self._pair(request.model), _received(request.rows))
                return _Sums(sums.shape, np.ascontiguousarray(sums, np.float64).tobytes())
            case _Release():
                del self._models[request.model.path, request.model.head]
                return _Released()
            case _Seconds():
                pairs = [self._pair(name) for name in request.models]
                rows = _received(request.rows)
                return _Timed(self._library.seconds(pairs, rows, request.threads, request.repeats))

    def _pair(self, name: _Name) -> tuple[TreeModel, Cut]:
        return self._models[name.path, name.head], Cut(name.ends, np.array(name.weights))


def _received(rows: _Rows) -> NDArray[np.float32]:
    return np.frombuffer(rows.values, np.float32).reshape(-1, rows.columns)


def serve(connection: Connection) -> None:
    """Answer requests until the other end is closed."""
    served = _Served()
    while True:
        try:
            request = msgspec.msgpack.decode(connection.recv_bytes(), type=_Request)
            connection.send_bytes(msgspec.msgpack.encode(served.answer(request)))
        except (EOFError, OSError):
            return


if __name__ == "__main__":
    serve(Connection(int(sys.argv[1])))
