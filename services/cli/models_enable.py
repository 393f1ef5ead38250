"""``demur models enable`` and ``disable``: which models of your own ``demur up`` starts."""

from click import argument, option

from services.app.model_store import Store
from services.cli.options import Options, command
from services.cli.output import BadInput, CommandError
from services.runtime import row_models
from services.runtime.registry import GRPC_PORT_OFFSET
from services.runtime.settings import Settings


@command("enable", example="demur models enable churn --port 3030")
@argument("name")
@option("--port", type=int, help="HTTP port; gRPC has 1000 more.  [default: the first free from 3021 on]")
def enable(options: Options) -> int:
    """Let `demur up` start the row model NAME of the model store."""
    home = Settings.read().home
    if not Store(home).get(options.name).manifest.outputs:
        raise CommandError(f"{options.name}: is an artefact of a task; `demur up` starts tasks anyway")
    try:
        model = row_models.put(home, options.name, enabled=True, port=options.port)
    except ValueError as error:
        raise BadInput(str(error)) from error
    print(
        f"{options.name}: `demur up` starts it on ports {model.port} (HTTP) and {model.port + GRPC_PORT_OFFSET} (gRPC)"
    )
    return 0


@command("disable", example="demur models disable churn")
@argument("name")
def disable(options: Options) -> int:
    """Let `demur up` no longer start the row model NAME; the artefact stays in the store."""
    home = Settings.read().home
    if options.name not in row_models.row_models(home):
        known = ", ".join(row_models.row_models(home)) or "none"
        raise CommandError(f"{options.name}: no such row model; there are {known}")
    row_models.put(home, options.name, enabled=False)
    print(f"{options.name}: `demur up` no longer starts it")
    return 0
