"""``demur serve TASK``: HTTP and gRPC service of a task, in the foreground, in one process."""

import os
import sys
from dataclasses import replace
from pathlib import Path

from click import argument, option

from models.artefact import ArtefactError
from models.manifest import ROWS
from services.access.factory import check_access
from services.app.model_store import Store
from services.app.reference import PROJECT, find
from services.cli.options import Options, command
from services.cli.output import BadInput, CommandError
from services.cli.processes import Running, announce, holder, started
from services.cli.task_name import TaskName, served_names
from services.runtime.row_models import place, row_models
from services.runtime.settings import Settings


@command("serve", example="demur serve vessel --model vessel-variational-10x10")
@argument("task", required=False, type=TaskName(ROWS))
@option("--model", help="Name or tag in the model store.  [default: the task's reference artefact]")
@option("--http-port", type=int, help="HTTP port.  [default: the task's port, 3001 to 3005; row models: from 3021]")
@option("--grpc-port", type=int, help="gRPC port.  [default: the task's port, 4001 to 4005; row models: from 4021]")
def serve(options: Options) -> int:
    """Serve one task in this process, over HTTP and gRPC; without TASK, the task is DEMUR_TASK.

    `demur serve rows --model NAME` serves a model of your own; so does `demur serve NAME`.
    """
    task = options.task or os.environ.get("DEMUR_TASK", "")
    if task == ROWS:
        task = (options.model or os.environ.get("DEMUR_MODEL", "")).partition(":")[0]
        if not task:
            raise BadInput(f"--model is missing: rows serves one of {', '.join(row_models(_home())) or 'no model yet'}")
    elif task not in (names := served_names()):
        problem = f"DEMUR_TASK = {task!r}" if task else "the task is missing"
        raise BadInput(f"{problem}: must be one of {', '.join(names)}")
    overrides = {"model": options.model, "http_port": options.http_port, "grpc_port": options.grpc_port}
    settings = replace(Settings.read(task=task), **{name: value for name, value in overrides.items() if value})
    http_port, grpc_port = settings.ports
    for port in (*settings.ports, *filter(None, [settings.probe_port])):
        if (process := holder(settings.host, port)) is not None:
            raise CommandError(f"port {port} is in use by {process}; stop it, or give other ports")
    check_access(settings)
    model = _model(settings)
    announce(
        settings.home,
        Running(
            settings.task,
            os.getpid(),
            settings.host,
            http_port,
            grpc_port,
            model,
            started(os.getpid()),
            settings.tls_certificate,
            settings.probe_port,
        ),
    )
    environment = {
        "DEMUR_TASK": settings.task,
        "DEMUR_HOME": str(settings.home.resolve()),
        "DEMUR_MODEL": model,
        "DEMUR_HTTP_PORT": str(http_port),
        "DEMUR_GRPC_PORT": str(grpc_port),
        "GRPC_VERBOSITY": os.environ.get("GRPC_VERBOSITY", "NONE"),  # its lines are no JSON
    }
    path = [] if Path.cwd() == PROJECT else ["-P"]  # no packages of the folder that the command happens to be run in
    command = [sys.executable, *path, "-m", "services.app.server"]
    sys.stdout.flush()
    own = {name.replace("DEMUR_", f"DEMUR_{place(settings.task)}_", 1) for name in environment}
    rest = {name: value for name, value in os.environ.items() if name not in own}  # they would override these
    # a new program: what chose and copied the artefact, BentoML included, stays in no memory
    os.execvpe(sys.executable, command, rest | environment)  # noqa: S606 - no shell, our own arguments


def _home() -> Path:
    return Path(os.environ.get("DEMUR_HOME", Settings.home))


def _model(settings: Settings) -> str:
    """Return the tag of the artefact to serve.

    If there is none, and the settings allow a start without, return the name in the settings: the server then reports
    in its readiness what is missing.
    """
    store = Store(settings.home)
    try:
        return find(settings, store).tag
    except (ArtefactError, LookupError):
        if not settings.start_without_model:
            raise
        return settings.model
