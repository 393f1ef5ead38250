"""What a member in training keeps on disk: its state while it trains, and its weights when it is finished.

Files hold tensors and numbers; nothing else is read from them.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from models.resume import claim, write_whole


@dataclass(frozen=True)
class Checkpoints:
    """Of one member in a folder that its training has claimed (``resume.claim``)."""

    folder: Path
    seed: int

    def finished(self) -> dict[str, Any] | None:
        """What ``finish`` kept; None before."""
        return _read(self.folder / f"member-{self.seed}.pt")

    def state(self) -> dict[str, Any] | None:
        """What ``save`` kept last; None before, and when the member is finished."""
        return _read(self._state)

    def save(self, state: Mapping[str, Any]) -> None:
        """Keeps the state; the one before it stays until this one is there completely."""
        write_whole(self._state, _bytes(state))

    def finish(self, result: Mapping[str, Any]) -> None:
        """Keeps the result, and the state no longer."""
        write_whole(self.folder / f"member-{self.seed}.pt", _bytes(result))
        self._state.unlink(missing_ok=True)

    @property
    def _state(self) -> Path:
        return self.folder / f"member-{self.seed}.state.pt"


def claimed(folder: Path, settings: object, fingerprint: str) -> None:
    """Makes the folder of members, or checks that it was made for these settings and examples. Needs torch.

    Raises:
        ValueError: the folder is another training's.
    """
    import torch

    claim(folder, {"settings": repr(settings), "torch": torch.__version__, "examples": fingerprint})


def _read(path: Path) -> dict[str, Any] | None:
    import torch

    if not path.exists():
        return None
    found: dict[str, Any] = torch.load(path, weights_only=True)
    return found


def _bytes(what: Mapping[str, Any]) -> bytes:
    import torch

    buffer = io.BytesIO()
    torch.save(dict(what), buffer)
    return buffer.getvalue()
