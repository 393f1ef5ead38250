"""Addresses of the processes beside the services: the monitor and the review console."""

from services.runtime.settings import Settings
from services.runtime.variables import SettingsError

MONITOR_PORT = 3000
REVIEW_PORT = 3011


def monitor_address(settings: Settings) -> tuple[str, int]:
    """Return host and port of the monitor in force.

    Raises:
        SettingsError: the port is outside 1 to 65535.
    """
    return settings.host, _port(settings, settings.monitor_port or MONITOR_PORT + settings.port_offset)


def review_address(settings: Settings) -> tuple[str, int]:
    """Return host and port of the review console in force.

    Raises:
        SettingsError: the port is outside 1 to 65535.
    """
    return settings.host, _port(settings, settings.review_port or REVIEW_PORT + settings.port_offset)


def _port(settings: Settings, port: int) -> int:
    if not 1 <= port <= 65535:
        raise SettingsError(
            f"DEMUR_PORT_OFFSET = {settings.port_offset}: port {port}; ports from 1 to 65535 are needed"
        )
    return port
