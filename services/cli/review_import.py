"""``demur review import TASK``: submit the annotations of another labelling tool as labels."""

from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
from click import Path as PathType
from click import argument

from services.cli.options import Options, command, json_option
from services.cli.output import BadInput, print_json
from services.cli.review_export import actor_option, client_of, format_option
from services.cli.service_client import ServiceClient, url_option
from services.cli.task_name import TaskName
from services.runtime.errors import DemurError
from services.runtime.registry import entry
from services.runtime.task_entry import imported
from services.transport.label_studio.documents import Annotation, StudioTask, heads_of
from services.transport.label_studio.submission import (
    IGNORED,
    REFUSED,
    Outcome,
    Reply,
    Steps,
    advance,
    answer,
    first_counting,
)


@command("import", example="demur review import vessel annotations.json --json")
@argument("task", type=TaskName())
@argument("file", type=PathType(exists=True, dir_okay=False, path_type=Path))
@format_option
@actor_option
@url_option
@json_option
def import_annotations(options: Options) -> int:
    """Submit the annotations of an export of Label Studio (JSON) as labels of their requests.

    The same file again changes nothing, and a changed annotation corrects its label. A skipped task skips its request.
    With access tokens in use, DEMUR_TOKEN needs the scope `review`. Exit code 1: an annotation was refused.
    """
    try:
        tasks = msgspec.json.decode(options.file.read_bytes(), type=list[StudioTask])
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"{options.file}: {error}; give the JSON export of a project (not JSON_MIN)") from error
    client = client_of(options)
    heads = heads_of(client.content("/v1/schema"))
    converter = imported(entry(options.task).label_studio)
    report: list[dict[str, Any]] = []
    for task in tasks:
        counting = first_counting(task.annotations)
        for annotation in task.annotations:
            if annotation is counting:
                outcome = _answered(client, answer(options.task, heads, converter, task.data, annotation))
            else:
                outcome = Outcome(IGNORED, message="another annotation of the task counts")
            report.append(_reported(task, annotation, outcome))
            if not options.json and outcome.message:
                print(f"task {task.id}, annotation {annotation.id}: {outcome.outcome}: {outcome.message}")
    counts = Counter(line["outcome"] for line in report)
    unanswered = sum(not task.annotations for task in tasks)
    if options.json:
        print_json({"annotations": report, "counts": counts, "unanswered": unanswered})
    else:
        print(", ".join(f"{count} {outcome.replace('_', ' ')}" for outcome, count in sorted(counts.items())) or "none")
        if unanswered:
            print(f"{unanswered} tasks have no annotation")
    return 1 if counts[REFUSED] else 0


def _answered(client: ServiceClient, steps: Steps) -> Outcome:
    """Make the calls of a submission, and return its outcome.

    Raises:
        CommandError: no service answers.
    """
    reply: Reply | None = None
    try:
        while not isinstance(call := advance(steps, reply), Outcome):
            reply = Reply(*client.call(call.path, call.body))
        return call
    except DemurError as error:
        return Outcome(REFUSED, code=error.code, message=error.message)


def _reported(task: StudioTask, annotation: Annotation, outcome: Outcome) -> dict[str, Any]:
    line = {"task": task.id, "annotation": annotation.id, "completed_by": annotation.completed_by}
    shown = {"outcome": outcome.outcome, "code": outcome.code, "message": outcome.message}
    return line | {name: text for name, text in shown.items() if text}
