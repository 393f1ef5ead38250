"""``demur audit TASK``: who changed policies, labelled, worked on requests and erased, as the ledger has it."""

import time
from typing import Any
from urllib.parse import urlencode

from click import Choice, argument, option

from services.cli.options import Options, command, json_option
from services.cli.output import print_json
from services.cli.service_client import service_at, url_option
from services.cli.task_name import TaskName
from services.ledger.audit_trail import KINDS
from services.runtime.settings import Settings


@command("audit", example="demur audit vessel --kind policy --days 30")
@argument("task", type=TaskName())
@option("--kind", multiple=True, type=Choice(KINDS), help="Kind; may be repeated.  [default: all]")
@option("--actor", default="", help="Author of the changes.  [default: all but the service itself]")
@option("--days", type=float, default=7.0, show_default=True, help="Days to look back.")
@option("--most", type=int, default=100, show_default=True, help="Newest changes to list, up to 1000.")
@url_option
@json_option
def audit(options: Options) -> int:
    """List who changed policies, labelled, worked on requests and erased.

    With access tokens in use, DEMUR_TOKEN needs the scope `policy`.
    """
    settings = Settings.read(task=options.task)
    service = service_at(settings, options.task, options.url)
    query = {
        "kind": ",".join(options.kind or KINDS),
        "actor": options.actor,
        "since": f"{max(0.0, time.time() - options.days * 86_400):.3f}",
        "most": str(options.most),
    }
    document = service.json(f"/v1/audit?{urlencode(query)}")
    if options.json:
        print_json(document)
        return 0
    for act in document["acts"]:
        print(_line(act))
    return 0


def _line(act: dict[str, Any]) -> str:
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(act["time"]))
    number = "" if act["count"] == 1 else f"{act['count']} × "
    about = [str(act[name]) for name in ("head", "unit", "reason") if name in act]
    return "  ".join([f"{when} UTC", f"{act['actor']:<20}", f"{act['kind']:<8}", f"{number}{act['what']}", *about])
