"""``demur review export TASK``: claim requests and write them as tasks of another labelling tool."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from click import Choice, IntRange, argument, option
from click import Path as PathType

from services.cli.http_client import identified
from services.cli.options import Options, command, json_option, require
from services.cli.output import BadInput, CommandError, ProgressLine, print_json
from services.cli.service_client import ServiceClient, service_at, url_option
from services.cli.task_name import TaskName
from services.labels.label_types import LEASE_SECONDS, MOST_CLAIMED
from services.review.identity import PROGRAM
from services.runtime.errors import DemurError
from services.runtime.registry import entry
from services.runtime.row_models import place
from services.runtime.settings import Settings
from services.runtime.task_entry import imported
from services.transport.actor import ACTOR_KEY
from services.transport.http.review import LEASE_KEY
from services.transport.label_studio import documents
from services.transport.label_studio.converter import ClaimedInput, Converter, StudioHead

FORMATS = ("label-studio",)
format_option = option(
    "--format", type=Choice(FORMATS), default=FORMATS[0], show_default=True, help="Format of the file."
)
actor_option = option(
    "--actor",
    default=PROGRAM,
    show_default=True,
    help="Name of the reviewer, the same for export and import; with access tokens, it is the token's.",
)
_INPUT_SECONDS = 120.0
_LEAST_MINUTES, _MOST_MINUTES = (seconds / 60 for seconds in LEASE_SECONDS)
_Claimed = Mapping[str, Any]
T = TypeVar("T")


@command("export", example="demur review export vessel -o tasks.json --config config.xml")
@argument("task", type=TaskName())
@format_option
@option("-o", "--output", required=True, type=PathType(path_type=Path), help="File to write; it must not exist.")
@option("--config", type=PathType(path_type=Path), help="File for the labelling configuration of the project.")
@option("--count", type=IntRange(min=1), default=100, show_default=True, help="Most requests to claim.")
@option("--lease-minutes", type=float, default=_MOST_MINUTES, show_default=True, help="Time for which they are kept.")
@option("--queue", type=Choice(("blind", "drafts")), default="blind", show_default=True, help="Queue to claim from.")
@option("--head", default="", help="Head; needed if the task has several.")
@actor_option
@url_option
@json_option
def export_requests(options: Options) -> int:
    """Claim label requests and write them as tasks of Label Studio, to be answered there.

    Tasks hold the input, and no prediction, uncertainty or decision; those of --queue drafts hold the prediction to be
    edited. Nothing is claimed if anything fails. With access tokens in use, DEMUR_TOKEN needs the scope `review`.
    """
    require(
        options,
        "lease_minutes",
        lambda minutes: _LEAST_MINUTES <= minutes <= _MOST_MINUTES,
        f"minutes from {_LEAST_MINUTES:.2g} to {_MOST_MINUTES:g}",
    )
    for path in (options.output, options.config):
        if path is not None and path.exists():
            raise BadInput(f"{path} exists and may hold claimed requests; choose another name")
    client = client_of(options)
    head = _checked(lambda: documents.head_of(documents.heads_of(client.content("/v1/schema")), options.head))
    converter: Converter = imported(entry(options.task).label_studio)
    claimed: list[_Claimed] = []
    try:
        written = _write(options, client, head, converter, claimed)
    except BaseException:
        for request in claimed:
            release(client, request)
        raise
    if options.config is not None:
        options.config.write_text(converter.config(head))
    without = len(claimed) - written
    if options.json:
        print_json({"tasks": written, "without_input": without, "head": head.name, "queue": options.queue})
    else:
        print(f"{written} requests of {head.name} are in {options.output} for {options.lease_minutes:g} minutes")
        if without:
            print(f"{without} were given back, since their inputs are not kept")
    return 0


def client_of(options: Options) -> ServiceClient:
    """Return the client of the service of a command; without a token, it states the reviewer's name."""
    settings = Settings.read(task=options.task)
    headers = {} if identified() else {ACTOR_KEY: options.actor}
    return service_at(settings, options.task, options.url, headers)


def release(client: ServiceClient, request: _Claimed) -> None:
    """Give a claimed request back, if the service still answers."""
    with suppress(CommandError):
        client.call(f"/v1/requests/{request['request']}/release", msgspec.json.encode({"lease": request["lease"]}))


def _write(
    options: Options, client: ServiceClient, head: StudioHead, converter: Converter, claimed: list[_Claimed]
) -> int:
    """Write the file of tasks, whole or not at all; return their number. ``claimed`` grows by all claimed requests."""
    partial = options.output.with_name(f".{options.output.name}.part")
    progress, written = ProgressLine("export"), 0
    try:
        partial.touch(mode=0o600)  # leases and inputs are nobody else's business
        with partial.open("wb") as file:
            file.write(b"[")
            for request in _claims(options, client, head, claimed):
                source = _input(client, request)
                if source is None:
                    release(client, request)
                    continue
                document = _checked(lambda: _document(options.task, head, converter, request, source))  # noqa: B023
                file.write(b",\n" if written else b"\n")
                file.write(msgspec.json.encode(document))
                written += 1
                progress(written / options.count)
            file.write(b"\n]\n")
        if not written:
            raise CommandError(_nothing(client, options, len(claimed)))
        partial.replace(options.output)
        return written
    finally:
        partial.unlink(missing_ok=True)


def _claims(options: Options, client: ServiceClient, head: StudioHead, claimed: list[_Claimed]) -> Iterator[_Claimed]:
    """Yield claimed requests, as many as were ordered and are open."""
    while (missing := options.count - len(claimed)) > 0:
        body = {
            "count": min(missing, MOST_CLAIMED),
            "seconds": options.lease_minutes * 60,
            "head": head.name,
            "queue": options.queue,
            "inputs": False,
        }
        requests = client.json("/v1/requests/claim", body)["requests"]
        if not requests:
            return
        claimed += requests  # at once, so that they are given back if anything fails
        yield from requests


def _input(client: ServiceClient, request: _Claimed) -> ClaimedInput | None:
    """Return the input of a request; None if it is not kept."""
    if request["input"] is None:
        return None
    source = documents.claimed_input(request)
    if source is not None:
        return source
    path = f"/v1/requests/{request['request']}/input"
    return ClaimedInput(
        request["input"]["media_type"], content=client.content(path, headers={LEASE_KEY: request["lease"]})
    )


def _document(
    task: str, head: StudioHead, converter: Converter, request: _Claimed, source: ClaimedInput
) -> dict[str, Any]:
    document = documents.exported(task, head, request, converter.data(head, source))
    return documents.with_predictions(document, head, converter)


def _checked(make: Callable[[], T]) -> T:
    """Return what a function makes of callers' data; its refusal is the command's.

    Raises:
        CommandError: it refuses.
    """
    try:
        return make()
    except DemurError as error:
        raise CommandError(error.message) from error


def _nothing(client: ServiceClient, options: Options, claimed: int) -> str:
    if claimed:
        return (
            "the inputs of these requests are not kept, so that there is nothing to show; "
            f"set DEMUR_{place(options.task)}_KEEP_PAYLOAD=on for requests to come"
        )
    return f"no request of the queue {options.queue} waits"
