"""Which tests run in one process of pytest-xdist."""

from xdist.scheduler import LoadScopeScheduling

TOGETHER = ("tests/e2e/",)
"""Folders whose tests share services, which take long to start."""


class ByModule(LoadScopeScheduling):
    """Sends a module to one process, and a folder of `TOGETHER` to one; what has most tests goes first."""

    def _split_scope(self, nodeid: str) -> str:
        return next((folder for folder in TOGETHER if nodeid.startswith(folder)), nodeid.partition("::")[0])
