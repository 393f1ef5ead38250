"""Without tracing nothing of OpenTelemetry is needed, and nothing of it is imported."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from services.runtime.settings import Settings
from services.runtime.variables import SettingsError
from services.tracing.factory import tracing
from services.tracing.tracer import OFF
from tests.test_architecture import imported, sources

PROJECT = Path(__file__).resolve().parents[3]
_PATHS = f"import sys; sys.path[:0] = [{str(PROJECT)!r}, {str(PROJECT / 'clients' / 'python')!r}]\n"
_BLOCK = (
    "class Block:\n"
    "    def find_spec(self, name, path=None, target=None):\n"
    "        if name.partition('.')[0] == 'opentelemetry':\n"
    "            raise ImportError(name + ' is blocked', name=name)\n"
    "sys.meta_path.insert(0, Block())\n"
)
_SERVE = """
import asyncio
from tests.contract.serving import PROTOCOLS, serving
from tests.contract.toys import rows
async def main():
    async with serving(rows.TOY) as served:
        print([(await served.ask(protocol, rows.TOY.good)).code for protocol in PROTOCOLS])
asyncio.run(main())
print([name for name in sys.modules if name.startswith('opentelemetry')])
"""


def ran(program: str) -> str:
    """Return all that a program writes; gRPC's library does not add how a connection ended, which is no error."""
    quiet = os.environ | {"GRPC_VERBOSITY": "ERROR"}
    command = [sys.executable, "-c", _PATHS + program]
    done = subprocess.run(command, env=quiet, capture_output=True, text=True, timeout=240)
    return done.stdout + done.stderr


def test_serving_needs_none_of_its_packages() -> None:
    assert ran(_BLOCK + _SERVE) == "['OK', 'OK']\n[]\n"
    assert "is blocked" in ran(_BLOCK + "import opentelemetry"), "the block does block"


@pytest.mark.long
def test_the_process_imports_no_exporter() -> None:
    """BentoML itself imports OpenTelemetry's interfaces and its SDK; what sends spans is not among it."""
    program = (
        "import services.app.bento, services.app.process\n"
        "print([m for m in sys.modules if 'exporter.otlp' in m or m.endswith('.otlp')])"
    )
    assert ran(program).splitlines()[-1] == "[]"


def test_packages_that_are_missing_are_named() -> None:
    program = (
        "from prometheus_client import CollectorRegistry\n"
        "from services.runtime.settings import Settings\n"
        "from services.tracing.factory import tracing\n"
        "try: tracing(Settings(tracing='otlp'), 'a:1', CollectorRegistry(), {})\n"
        "except ValueError as error: print(error)\n"
    )
    assert "pip install 'demur[tracing]'" in ran(_BLOCK + program)


def test_the_switch_and_what_is_not_understood() -> None:
    registry = CollectorRegistry()
    assert tracing(Settings(), "a:1", registry, {}).tracer is OFF
    on = Settings(tracing="otlp")
    assert tracing(on, "a:1", registry, {"OTEL_SDK_DISABLED": "true"}).tracer is OFF
    with pytest.raises(SettingsError, match="spans are sent as http/protobuf"):
        tracing(on, "a:1", registry, {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"})
    assert list(registry.collect()) == []
    with pytest.raises(SettingsError, match="DEMUR_TRACING"):
        Settings.read({"DEMUR_TRACING": "zipkin"})


def test_one_module_knows_opentelemetry() -> None:
    importers = {
        str(path.relative_to(PROJECT))
        for root in ("services", "models", "clients/python/demur")
        for path in sources(PROJECT / root)
        if any(module.startswith("opentelemetry") for module in imported(path))
    }
    assert importers == {"services/tracing/otlp.py"}
