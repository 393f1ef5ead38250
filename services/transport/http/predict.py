"""``POST /v1/predict``: one request in JSON, protobuf or a form, one answer."""

import time
from collections.abc import Mapping
from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from services.runtime.settings import Settings
from services.tracing.trace import step
from services.transport.http.body import JSON, PROTOBUF, check_size, error_response, media_type, without_parameters
from services.transport.http.files import write_answers
from services.transport.http.request import (
    TIMEOUT_HEADER,
    DisconnectWatch,
    answer_format,
    read_content,
    read_request,
    timeout_seconds,
    within,
)
from services.transport.http.small_calls import DecodedCall
from services.transport.served_model import ServedModel

PATH = "/v1/predict"


class PredictRoute:
    """Predictions of a served model: any call as an endpoint, and small ones as a ``SmallRoute``."""

    path = PATH
    transport = "http"
    refusal = staticmethod(error_response)

    def __init__(self, tenant: ServedModel, settings: Settings) -> None:
        self._tenant, self._settings = tenant, settings

    async def endpoint(self, request: Request) -> Response:
        """Answer a call of any size and form."""
        timeout = timeout_seconds(request.headers.get(TIMEOUT_HEADER), self._settings.request_seconds)
        deadline = time.monotonic() + timeout
        pipeline = self._tenant.pipeline
        async with within(timeout):
            with step("decode"):
                question = await read_request(request, self._tenant, self._settings)
            call = question.options.call("decide", deadline=deadline)
            async with DisconnectWatch(request):
                answers = await pipeline.answer(question.request, call, question.nbytes)
        with step("encode"):
            in_plain = question.options.plain
            written = await pipeline.offload.run(
                question.nbytes, write_answers, self._tenant, answers, question.answer_format, in_plain=in_plain
            )
            return written.response()

    def takes(self, content_type: str) -> bool:
        """Return whether a body of this content type can be read by ``read``: forms are not."""
        return without_parameters(content_type) in (JSON, PROTOBUF)

    def read(self, headers: Mapping[str, str], body: bytes) -> DecodedCall:
        """Decode a call.

        Raises:
            DemurError: a header or the body is not valid for the route.
        """
        seconds = timeout_seconds(headers.get(TIMEOUT_HEADER), self._settings.request_seconds)
        deadline = time.monotonic() + seconds
        check_size(len(body), self._settings.max_message_bytes)
        kind = media_type(headers.get("content-type", JSON))
        request, options = read_content(kind, self._tenant, body)
        written_as = answer_format(headers.get("accept", ""), self._tenant, kind)
        write = partial(write_answers, self._tenant, answer_format=written_as, in_plain=options.plain)
        return DecodedCall(request, options.call("decide", deadline=deadline), seconds, len(body), write)

    def failed(self, seconds: float) -> None:
        """Take note of a small call that was refused or failed."""
