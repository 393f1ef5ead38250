"""Supervisor of the server process, controlled through Unix sockets instead of BentoML's TCP ports."""

import shutil
import tempfile
from typing import Any

from bentoml._internal.utils import circus


class Supervisor(circus.Arbiter):  # type: ignore[misc]
    """Arbiter of BentoML, with its two sockets in a folder that only this user may enter.

    BentoML looks for two free TCP ports, closes them and opens them later: on a busy machine, another process may have
    taken a port by then, and the service ends at start. Also, any user of the machine could connect to such a port and
    control the supervisor.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        folder = tempfile.mkdtemp(prefix="demur-")
        sockets = {"endpoint": f"ipc://{folder}/commands", "pubsub_endpoint": f"ipc://{folder}/events"}
        super().__init__(*arguments, **options | sockets)
        self.exit_stack.callback(shutil.rmtree, folder, ignore_errors=True)


def supervise() -> None:
    """Make BentoML use this supervisor; call it in the parent process, before the server starts."""
    circus.Arbiter = Supervisor
