"""BentoML's parent process, which watches over the server: its own connections, on files instead of ports."""

from __future__ import annotations

import shutil
import tempfile
from typing import Any

from bentoml._internal.utils import circus


class Supervisor(circus.Arbiter):  # type: ignore[misc]
    """Takes its commands through two Unix sockets, in a folder that only this user may enter.

    BentoML gives it two free TCP ports, which are closed again before they are used: on a machine that opens many
    connections another process sometimes has one by then, and the service ends at start. Who can connect to such a
    port, moreover, commands the supervisor, whichever user of the machine it is.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        folder = tempfile.mkdtemp(prefix="demur-")
        sockets = {"endpoint": f"ipc://{folder}/commands", "pubsub_endpoint": f"ipc://{folder}/events"}
        super().__init__(*arguments, **options | sockets)
        self.exit_stack.callback(shutil.rmtree, folder, ignore_errors=True)


def supervise() -> None:
    """Lets the parent process, in which this is called before it starts anything, be supervised this way."""
    circus.Arbiter = Supervisor
