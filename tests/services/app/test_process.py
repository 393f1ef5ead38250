"""A process that cannot serve what it was asked to stays alive, not ready, and says why."""

from pathlib import Path

import httpx
import pytest

from services.app import process
from services.runtime.settings import Settings
from tests.models.weather.tiny import Tiny


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"measures": "temperature=mi"}, "DEMUR_MEASURES: weather-catboost-3:"),
        ({"measures": "power=tvar"}, "DEMUR_MEASURES names the head 'power'"),
        ({"fixed_threshold": 1.0}, "DEMUR_FIXED_THRESHOLD = 1 does not say for which"),
    ],
)
async def test_settings_that_do_not_fit_the_artefact_are_told_by_every_route(
    tiny: Tiny,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    settings: dict[str, object],
    reason: str,
) -> None:
    monkeypatch.setattr(process.logging, "configure", lambda *_: None)
    monkeypatch.setattr(process, "find", lambda *_: tiny.trees)
    chosen = Settings(task="weather", home=tmp_path, **settings)  # type: ignore[arg-type]
    started = process.Process(chosen)
    await started.start()
    assert started.lifecycle is not None
    assert started.lifecycle.reason.startswith(f"failed to start: {reason}")
    async with httpx.AsyncClient(transport=httpx.ASGITransport(started), base_url="http://weather") as http:
        response = await http.get("/v1/schema")
        by_protocol = await http.get("/v2/health/ready")
    assert (response.status_code, response.json()["error"]["code"]) == (503, "not_ready")
    assert reason in response.json()["error"]["message"]
    assert by_protocol.status_code == 503
    assert reason in by_protocol.json()["error"], "clients of that protocol read a text"
    await started.stop()
