"""Inputs of units from a folder or a service of the caller, where the ledger keeps none."""

import http.client
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote
from urllib.request import HTTPRedirectHandler, ProxyHandler, build_opener

from services.runtime.logging import get_logger

_log = get_logger(__name__)
_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class InputSource:
    """Folder with a file ``UNIT.*`` for each unit, or an address that answers ``GET ADDRESS/UNIT``."""

    place: str
    """Path of the folder, or the address, such as ``https://pacs.example/inputs``."""
    media_type: str
    """Media type of the inputs."""
    most_bytes: int
    """Size of the largest input that is read."""

    def __call__(self, unit: str) -> bytes | None:
        """Return the input of a unit by its id; None where there is none, which is logged. It blocks."""
        try:
            content = self._fetched(unit) if self.place.startswith(("http://", "https://")) else self._read(unit)
        except (OSError, http.client.HTTPException, ValueError) as error:
            _log.warning("the input of %s cannot be read from %s: %s", unit, self.place, error)
            return None
        if content is not None and len(content) > self.most_bytes:
            _log.warning("the input of %s in %s is larger than %d bytes", unit, self.place, self.most_bytes)
            return None
        return content

    def _read(self, unit: str) -> bytes | None:
        files = sorted(path for path in Path(self.place).glob(f"{unit}.*") if path.is_file())
        if not files:
            _log.warning("there is no file %s.* in %s", unit, self.place)
            return None
        with files[0].open("rb") as file:
            return file.read(self.most_bytes + 1)

    def _fetched(self, unit: str) -> bytes | None:
        url = f"{self.place.rstrip('/')}/{quote(unit)}"
        with _OPENER.open(url, timeout=_SECONDS) as answer:
            content: bytes = answer.read(self.most_bytes + 1)
        return content


class _NoRedirects(HTTPRedirectHandler):
    """Handler that fails where an answer names another address: it may lead into another network."""

    def redirect_request(self, *_: Any) -> None:
        return None


_OPENER = build_opener(_NoRedirects(), ProxyHandler({}))
