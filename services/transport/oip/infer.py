"""Inference over HTTP: one request in JSON, or in JSON with binary tensors, one answer."""

import time
from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from services.runtime.settings import Settings
from services.tracing.trace import step
from services.transport.http.body import JSON, Written, check_size, read_body, without_parameters
from services.transport.http.request import TIMEOUT_HEADER, DisconnectWatch, timeout_seconds, within
from services.transport.http.small_calls import DecodedCall
from services.transport.oip import bodies
from services.transport.oip.model import OipModel, items


class InferRoute:
    """Inference by a served model: any call as an endpoint, and small ones as a ``SmallRoute``."""

    transport = bodies.TRANSPORT
    refusal = staticmethod(bodies.refusal)

    def __init__(self, model: OipModel, settings: Settings, path: str = "") -> None:
        """
        Args:
            path: of small calls, as declared with the names of its parameters.
        """
        self.path = path
        self._model, self._settings = model, settings
        self._most_bytes = settings.max_upload_bytes if model.binding.files else settings.max_message_bytes

    async def endpoint(self, request: Request) -> Response:
        """Answer a call of any size."""
        start = time.perf_counter()
        model = self._model
        try:
            model.check(request.path_params["model"], request.path_params.get("version", ""))
            written, count = await self._answered(request)
        except Exception:
            model.statistics.failed(time.perf_counter() - start)
            raise
        model.statistics.answered(count, time.perf_counter() - start)
        return written.response()

    async def _answered(self, request: Request) -> tuple[Written, int]:
        model, offload, headers = self._model, self._model.pipeline.offload, request.headers
        seconds = timeout_seconds(headers.get(TIMEOUT_HEADER), self._settings.request_seconds)
        end = time.monotonic() + seconds
        async with within(seconds):
            with step("decode"):
                header = _header_length(headers)
                body = await read_body(request, self._most_bytes)
                text_bytes = _text_bytes(body, header)

                def read() -> Any:
                    question, forms = bodies.question(body, header)
                    return model.read(question), forms

                parsed, output_forms = await offload.run(text_bytes, read)
            left = end - time.monotonic()
            own = parsed.wishes.seconds
            async with within(own), DisconnectWatch(request):
                answers = await model.answer(parsed, left if own is None else min(left, own), text_bytes)
        with step("encode"):
            written = await offload.run(
                text_bytes, lambda: bodies.response(model, model.joined(parsed, answers), output_forms)
            )
        return written, items(answers)

    def takes(self, content_type: str) -> bool:
        """Return whether a body of this content type can be read by ``read``."""
        return without_parameters(content_type) in (JSON, bodies.BINARY)

    def read(self, headers: Mapping[str, str], body: bytes) -> DecodedCall:
        """Decode a call for this model.

        Raises:
            DemurError: a header or the body is not valid.
        """
        start = time.perf_counter()
        model = self._model
        seconds = timeout_seconds(headers.get(TIMEOUT_HEADER), self._settings.request_seconds)
        end = time.monotonic() + seconds
        header = _header_length(headers)
        check_size(len(body), self._most_bytes)
        question, forms = bodies.question(body, header)
        parsed = model.read(question)
        if parsed.wishes.seconds is not None:
            seconds = min(end - time.monotonic(), parsed.wishes.seconds)
            end = time.monotonic() + seconds

        def write(answers: list[Any]) -> Written:
            written = bodies.response(model, model.joined(parsed, answers), forms)
            model.statistics.answered(items(answers), time.perf_counter() - start)
            return written

        return DecodedCall(parsed.request, model.call(parsed, end), seconds, _text_bytes(body, header), write)

    def failed(self, seconds: float) -> None:
        """Take note of a small call that was refused or failed."""
        self._model.statistics.failed(seconds)


def _header_length(headers: Mapping[str, str]) -> int | None:
    return bodies.header_length(headers.get("content-type", JSON), headers.get(bodies.HEADER_LENGTH))


def _text_bytes(body: bytes, header: int | None) -> int:
    """Return the size of a body in bytes of text, of which binary numbers are a quarter as slow to read."""
    return len(body) if header is None else header + (len(body) - header) // 4
