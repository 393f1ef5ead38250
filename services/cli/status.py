"""``demur status``: where the services are, and whether they are ready."""

from typing import Any

import msgspec

from services.cli.http_client import ask
from services.cli.options import Options, command, json_option
from services.cli.output import print_json
from services.cli.processes import COMPANIONS, MONITOR, REVIEW, Running, announced
from services.runtime.addresses import address
from services.runtime.ports import monitor_address, review_address
from services.runtime.row_models import row_models
from services.runtime.settings import Settings
from services.tasks import TENANTS


@command("status", example="demur status --json")
@json_option
def status(options: Options) -> int:
    """Show where the services are; exit code 0 if all of them, the monitor and the console are ready, else 1.

    Row models are shown if they run, or if `demur up` starts them.
    """
    state = collect(Settings.read())
    if options.json:
        print_json(state)
    else:
        for task, service in state["services"].items():
            words = "ready" if service["ready"] else "not ready"
            print(f"{task:<12} {words:<10} {service['http']:<24} grpc {service['grpc']:<18} {service['model'] or '-'}")
            if service["reason"]:
                print(f"{'':<12} {service['reason']}")
        for name in COMPANIONS:
            companion = state[name]
            words = "ready" if companion["ready"] else "not ready" if companion["expected"] else "not needed: no ledger"
            print(f"{name:<12} {words:<10} {companion['http'] or ''} {companion['reason']}".rstrip())
    companions = [state[name] for name in COMPANIONS]
    parts = [*state["services"].values(), *(companion for companion in companions if companion["expected"])]
    return 0 if all(part["ready"] for part in parts) else 1


def collect(settings: Settings) -> dict[str, Any]:
    """Return the document that ``demur status --json`` prints."""
    running = announced(settings.home)
    own = (name for name, model in row_models(settings.home).items() if model.enabled or name in running)
    services = {task: _state(Settings.read(task=task), running.get(task)) for task in (*TENANTS, *own)}
    return {
        "services": services,
        MONITOR: _companion(settings, monitor_address(settings), running.get(MONITOR)),
        REVIEW: _companion(settings, review_address(settings), running.get(REVIEW)),
    }


def monitored(settings: Settings) -> bool:
    """Return whether there is a ledger for a monitor to follow."""
    return bool(settings.monitor_ledgers) or settings.ledger not in ("", "none")


def ready(running: Running) -> bool:
    """Return whether a service answers its readiness probe with 200."""
    return ask(running.probe, seconds=2, certificate=running.certificate)[0] == 200


def keeps_inputs(running: Running) -> bool | None:
    """Return whether a service keeps the inputs of deferred units for reviewers; None where it does not say."""
    code, body = ask(f"{running.http}/v1/requests", seconds=2, certificate=running.certificate)
    return bool(msgspec.json.decode(body)["keeps_inputs"]) if code == 200 else None


def unready(running: Running) -> str:
    """Return what a service that is not ready says of itself; empty where it says nothing."""
    code, body = ask(f"{running.http}/v1/schema", seconds=2, certificate=running.certificate)
    return str(msgspec.json.decode(body)["error"]["message"]) if code == 503 and body.startswith(b"{") else ""


def _qualified(running: Running) -> str:
    """Return what a ready service says of its numeric profile; empty where its artefact was calibrated under it."""
    code, body = ask(f"{running.http}/v1/model", seconds=2, certificate=running.certificate)
    if code != 200:
        return ""
    document = msgspec.json.decode(body)
    qualification, name = document["qualification"], document["profile"]["name"]
    verdict = qualification["verdict"]
    share = f", {qualification['done']:.0%} measured" if verdict == "qualifying" else ""
    return "" if verdict == "artefact" else f"{name}: {verdict}{share}: {qualification['reason']}"


def _state(settings: Settings, running: Running | None) -> dict[str, Any]:
    if running is None:
        http, grpc = settings.ports
        scheme = "https" if settings.tls_certificate else "http"
        places = {"http": f"{scheme}://{address(settings.host, http)}", "grpc": address(settings.host, grpc)}
        return {**places, "ready": False, "model": None, "reason": ""}
    is_ready = ready(running)
    reason = _qualified(running) if is_ready else unready(running)
    return {"http": running.http, "grpc": running.grpc, "ready": is_ready, "model": running.model, "reason": reason}


def _companion(settings: Settings, place: tuple[str, int], running: Running | None) -> dict[str, Any]:
    expected = monitored(settings)
    if running is None:
        scheme = "https" if settings.tls_certificate else "http"
        http = f"{scheme}://{address(*place)}" if expected else None
        return {"http": http, "ready": False, "expected": expected, "reason": "not running" if expected else ""}
    code, body = ask(running.probe, seconds=2, certificate=running.certificate)
    reason = "" if code == 200 else "no response"
    if code == 503 and body.startswith(b"{"):
        reason = str(msgspec.json.decode(body)["reason"])
    return {"http": running.http, "ready": code == 200, "expected": expected, "reason": reason}
