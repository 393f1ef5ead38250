"""``demur monitor``: live retention, from the ledgers or from a logged stream."""

from services.cli.options import LazyGroup

monitor = LazyGroup(
    name="monitor",
    places={
        "run": "services.cli.monitor_run:run",
        "export": "services.cli.monitor_export:export_command",
        "replay": "services.cli.monitor_replay:replay_command",
    },
    help="Monitor live retention: what deferring costs and saves, live or of a logged stream.",
    epilog="Example: demur monitor replay --events events.csv --labels labels.csv --acceptable 1 --json",
    default="run",
)
