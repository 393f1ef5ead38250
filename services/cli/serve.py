"""``demur serve TASK``: both protocols of one task, in the foreground, under BentoML."""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import replace

from models.artefact import ArtefactError
from services.access.factory import check_access
from services.app.model_store import Store
from services.app.reference import PROJECT, find
from services.cli.output import BadInput, CommandError
from services.cli.places import Running, announce, started
from services.cli.ports import holder
from services.runtime.settings import Settings
from services.tasks import TENANTS

EXAMPLE = "demur serve vessel --model vessel-variational-10x10"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("task", nargs="?", choices=sorted(TENANTS), help="default: DEMUR_TASK")
    parser.add_argument("--model", help="name or tag in the model store; default: the task's reference artefact")
    parser.add_argument("--http-port", type=int, help="default: the task's port, 3001 to 3005")
    parser.add_argument("--grpc-port", type=int, help="default: the task's port, 4001 to 4005")


def run(given: argparse.Namespace) -> int:
    """Verifies the artefact, announces the process and becomes BentoML's server.

    Raises:
        BadInput: no task is given, or there is none of that name.
        ArtefactError, LookupError: there is nothing to serve, and settings do not say to start all the same.
    """
    task = given.task or os.environ.get("DEMUR_TASK", "")
    if task not in TENANTS:
        asked = f"DEMUR_TASK = {task!r}" if task else "no task is given"
        raise BadInput(f"{asked}: give one of {', '.join(sorted(TENANTS))}, or set DEMUR_TASK")
    wanted = {"model": given.model, "http_port": given.http_port, "grpc_port": given.grpc_port}
    settings = replace(Settings.read(task=task), **{name: value for name, value in wanted.items() if value})
    http_port, grpc_port = settings.ports
    for port in (*settings.ports, *filter(None, [settings.probe_port])):
        if (found := holder(settings.host, port)) is not None:
            raise CommandError(f"port {port} is taken by {found}; stop it, or give other ports")
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
    command = [sys.executable, "-m", "bentoml", "serve", "services.app.bento:Demur", "--working-dir", str(PROJECT)]
    command += ["--host", settings.host, "--port", str(http_port)]
    command += ["--timeout-graceful-shutdown", str(int(settings.drain_seconds) + 5)]
    sys.stdout.flush()
    own = {name.replace("DEMUR_", f"DEMUR_{settings.task.upper()}_", 1) for name in environment}
    rest = {name: value for name, value in os.environ.items() if name not in own}  # what is settled is said once
    os.execvpe(sys.executable, command, rest | environment)  # noqa: S606 - no shell, our own arguments


def _model(settings: Settings) -> str:
    """Tag of the artefact to serve; where there is none, but the service starts all the same, what was asked for: the
    server finds out again what is missing, and tells it to whoever asks whether it is ready."""
    store = Store(settings.home)
    try:
        return find(settings, store).tag
    except (ArtefactError, LookupError):
        if not settings.start_without_model:
            raise
        return settings.model
