"""Inputs of reviewers from a folder or an address of the caller."""

import base64
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from services.labels.input_source import InputSource
from services.ledger.unit_ids import unit_text
from tests.services.labels.label_services import EPOCH, OPTIONS, opened, scratch

UNIT = "0000000000000001-7"


class Archive(BaseHTTPRequestHandler):
    """Answers one unit, redirects another, and knows no others."""

    def do_GET(self) -> None:
        known = self.path == f"/inputs/{UNIT}"
        self.send_response(200 if known else 302 if self.path.endswith("-8") else 404)
        if self.path.endswith("-8"):
            self.send_header("location", f"/inputs/{UNIT}")
        self.end_headers()
        if known:
            self.wfile.write(b"scan")

    def log_message(self, format: str, *arguments: object) -> None:
        """Say nothing."""


@pytest.fixture
def archive() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Archive)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/inputs/"
    server.shutdown()
    server.server_close()


def test_a_folder_has_a_file_by_the_name_of_the_unit(tmp_path: Path) -> None:
    source = InputSource(str(tmp_path), "application/x-nifti", 10)
    (tmp_path / f"{UNIT}.nii.gz").write_bytes(b"scan")
    (tmp_path / "0000000000000001-71.nii.gz").write_bytes(b"another")
    assert source(UNIT) == b"scan"
    assert source("0000000000000001-8") is None
    (tmp_path / f"{UNIT}.nii.gz").write_bytes(b"a larger one")
    assert source(UNIT) is None
    assert InputSource(str(tmp_path / "nowhere"), "", 10)(UNIT) is None


def test_an_address_is_asked_for_the_unit_and_not_followed_elsewhere(archive: str) -> None:
    assert InputSource(archive, "", 10)(UNIT) == b"scan"
    assert InputSource(archive, "", 3)(UNIT) is None, "too large"
    assert InputSource(archive, "", 10)("0000000000000001-8") is None, "it leads elsewhere"
    assert InputSource(archive, "", 10)("0000000000000001-9") is None
    assert InputSource("http://127.0.0.1:9", "", 10)(UNIT) is None


async def test_reviewers_get_inputs_that_the_ledger_does_not_keep(tmp_path: Path) -> None:
    source = InputSource(str(tmp_path), "application/x-nifti", 100)
    (tmp_path / f"{unit_text((EPOCH, 0))}.nii.gz").write_bytes(b"scan")
    async with opened(scratch(tmp_path), options=replace(OPTIONS, input_source=source)) as ledger:
        await ledger.units([0], payload=None)
        (request,) = await ledger.label_service.reviews.claim(count=1, head="", actor="anna", seconds=60)
        assert request.input == {"media_type": "application/x-nifti", "base64": base64.b64encode(b"scan").decode()}
        kind, content = await ledger.label_service.reviews.input(request.claimed.request, request.claimed.lease)
        assert (kind, content) == ("application/x-nifti", b"scan")


async def test_large_inputs_are_left_out_of_claims_that_leave_them_out(tmp_path: Path) -> None:
    source = InputSource(str(tmp_path), "application/x-nifti", 100)
    (tmp_path / f"{unit_text((EPOCH, 0))}.nii.gz").write_bytes(b"scan")
    async with opened(scratch(tmp_path), options=replace(OPTIONS, input_source=source)) as ledger:
        await ledger.units([0], payload=None)
        await ledger.units([1], payload=None, payload_ref=f"sha256:{'0' * 64}", payload_type="application/x-scan")
        await ledger.units([2], payload=b"{}", payload_type="application/json")
        await ledger.units([3], payload=b"a text", payload_type="text/plain")
        claimed = await ledger.label_service.reviews.claim(
            count=4, head="", actor="anna", seconds=60, large_inputs=False
        )
        shown = {request.input["media_type"]: request for request in claimed if request.input}
        for media_type in ("application/x-nifti", "application/x-scan", "application/json"):
            assert shown[media_type].input == {"media_type": media_type}
            assert shown[media_type].payload is None
        assert shown["text/plain"].payload == b"a text", "small ones come with their request"
