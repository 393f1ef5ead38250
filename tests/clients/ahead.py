"""How stand-ins take a stream: chunks are read as they come, whether or not those before are answered."""

import queue
import threading
from collections.abc import Callable, Iterator
from typing import Any

import grpc


class Ahead:
    """Chunks of a stream of frames, in their order; a thread reads them until the stream ends or is cancelled."""

    def __init__(self, frames: Iterator[Any], unanswered: Callable[[int], None]) -> None:
        """``unanswered`` hears, with every chunk that is read, how many are not answered."""
        self.done = 0
        """Chunks that are answered; whoever answers counts them, before the answer leaves."""
        self._frames, self._unanswered = frames, unanswered
        self._chunks: queue.SimpleQueue[Any] = queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()

    def __iter__(self) -> Iterator[Any]:
        while (chunk := self._chunks.get()) is not None:
            yield chunk

    def _read(self) -> None:
        try:
            for received, frame in enumerate(self._frames, 1):
                self._unanswered(received - self.done)
                self._chunks.put(frame.chunk)
        except grpc.RpcError:
            pass  # cancelled
        finally:
            self._chunks.put(None)
