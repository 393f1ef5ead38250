"""Which tests run in one process of pytest-xdist, and which modules run first."""

from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

TOGETHER = "tests/e2e/"
"""Folder whose tests run in one process, because they share services, which take long to start."""
OWN_SERVICES = ("labels", "openapi", "policy", "qualification", "security")
"""Modules of that folder that start services of their own and so can run beside the others."""
LONGEST = (
    TOGETHER,
    *(f"{TOGETHER}test_{name}.py" for name in ("openapi", "qualification", "policy")),
    "tests/deploy/test_observability.py",
    "tests/fault/test_kill_labels.py",
    "tests/deploy/test_alerting.py",
    "tests/services/report/test_odd_data.py",
    "tests/services/report/test_report.py",
    "tests/models/lesion/test_build.py",
    "tests/browser/test_report.py",
    "tests/benchmarks/test_gpu.py",
    "tests/benchmarks/test_load.py",
    "tests/fuzz/test_decoders.py",
)
"""Longest units of work, in this order, so that no process is left alone with one at the end."""


class ByModule(LoadScopeScheduling):
    """Sends a module to one process; the longest first, then what has most tests."""

    def _split_scope(self, nodeid: str) -> str:
        module = nodeid.partition("::")[0]
        shared = module.startswith(TOGETHER) and module.removeprefix(f"{TOGETHER}test_")[:-3] not in OWN_SERVICES
        return TOGETHER if shared else module

    def _assign_work_unit(self, node: WorkerController) -> None:
        longest = next((unit for unit in LONGEST if unit in self.workqueue), None)
        if longest is not None:
            self.workqueue.move_to_end(longest, last=False)
        super()._assign_work_unit(node)
