"""Forms with files: parsed while they arrive, in bounded memory; unknown and duplicate fields are refused."""

from collections.abc import Mapping

from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request

from services.runtime.errors import InvalidInput
from services.transport.binding import FormField
from services.transport.http.body import body_parts

_TEXT_BYTES = 64 << 10


class _Parser(MultiPartParser):
    """Parser that records whether the form was complete."""

    ended = False

    def on_end(self) -> None:
        self.ended = True

    def forget(self) -> None:
        """Free the memory of all files, including a truncated one that is in no form."""
        for file in self._files_to_close_on_error:
            file.close()


async def read_form(request: Request, fields: Mapping[str, FormField], limit: int) -> dict[str, bytes]:
    """Return name to content of the fields that were sent; texts as UTF-8.

    Raises:
        InvalidInput: not a form, or an unknown, duplicate or missing field.
        TooLarge, UnsupportedMediaType, Cancelled: as ``read_body``, for more than ``limit`` bytes.
    """
    most = len(fields) + 1  # so that an extra field is named below
    parser = _Parser(
        request.headers,
        body_parts(request, limit),
        max_files=most,
        max_fields=most,
        max_part_size=_TEXT_BYTES,
    )
    parser.spool_max_size = limit  # in memory, which the limit bounds
    try:
        form = await parser.parse()
        if not parser.ended:  # the last field may be truncated or lost
            parser.forget()
            raise MultiPartException("it has no closing boundary; it was cut off")
    except (MultiPartException, KeyError, ValueError) as error:
        reason = getattr(error, "message", str(error))
        raise InvalidInput(f"the body is not multipart/form-data: {reason}", code="not_a_form") from error
    contents: dict[str, bytes] = {}
    try:
        for name, value in form.multi_items():
            if name not in fields:
                known = ", ".join(fields)
                raise InvalidInput(
                    f"the form has a field {name[:60]!r}; those taken are {known}",
                    code="unknown_field",
                    field=name[:60],
                    allowed=known,
                )
            if name in contents:
                raise InvalidInput(f"the form has {name!r} twice; send it once", code="doubled_field", field=name)
            contents[name] = await value.read() if isinstance(value, UploadFile) else value.encode()
    finally:
        await form.close()
    for name, field in fields.items():
        if field.required and not contents.get(name):
            raise InvalidInput(
                f"the form has no {name!r} ({field.description}); send it as -F {name}=@FILE",
                code="missing_field",
                field=name,
            )
    return contents
