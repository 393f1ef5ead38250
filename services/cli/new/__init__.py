"""``demur new``: packages to start a task from, and the stubs of their protobuf files."""

from services.cli.options import LazyGroup

new = LazyGroup(
    name="new",
    places={"task": "services.cli.new.task:task", "stubs": "services.cli.new.stubs:stubs"},
    help="Write a package for a task of your own.",
    epilog="Example: demur new task signals",
)
