"""/metrics in both formats, exemplars, and what build_info tells."""

from typing import Any

import httpx
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families as plain

from services.tracing.context import trace_text
from tests.contract.serving import PROFILE, PROTOCOLS, Served, serving
from tests.contract.toys import rows
from tests.prometheus import check_metrics
from tests.services.tracing.kept import PARENT, TRACE, Kept

OPEN = {"accept": "application/openmetrics-text;version=1.0.0;q=0.6,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"}


async def scraped(served: Served, headers: dict[str, str] | None = None) -> httpx.Response:
    return await served.http.get("/metrics", headers=headers or {})


async def asked(served: Served) -> None:
    for protocol in PROTOCOLS:
        await served.ask(protocol, rows.TOY.good)
    await served.http.post("/v1/predict", json=rows.TOY.good, headers={"traceparent": PARENT})


def exemplars(text: str, family: str) -> list[Any]:
    (matching,) = (candidate for candidate in openmetrics(text) if candidate.name == family)
    return [sample.exemplar for sample in matching.samples if sample.exemplar is not None]


async def test_both_formats_tell_the_same() -> None:
    async with serving(rows.TOY, tracer=Kept().recorder()) as served:
        served.metrics.info("1", "toy:1", profile=PROFILE)
        await asked(served)
        text, opened = await scraped(served), await scraped(served, OPEN)
    assert text.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert opened.headers["content-type"] == "application/openmetrics-text; version=1.0.0; charset=utf-8"
    assert "trace_id" not in text.text
    first, other = (
        {(sample.name, *sorted(sample.labels.items())): sample.value for family in parsed for sample in family.samples}
        for parsed in (plain(text.text), openmetrics(opened.text))
    )
    assert first == other
    assert opened.text.endswith("# EOF\n")


async def test_promtool_has_nothing_to_complain_about() -> None:
    async with serving(rows.TOY, tracer=Kept().recorder()) as served:
        served.metrics.info("1", "toy:1", profile=PROFILE)
        await asked(served)
        check_metrics((await scraped(served)).text)


async def test_exemplars_name_traces_that_were_recorded() -> None:
    kept = Kept()
    async with serving(rows.TOY, tracer=kept.recorder()) as served:
        await asked(served)
        opened = (await scraped(served, OPEN)).text
    calls = {trace_text(bundle.trace_id) for bundle in kept.calls}
    recorded = exemplars(opened, "demur_request_seconds")
    assert {exemplar.labels["trace_id"] for exemplar in recorded} <= calls
    assert any(
        exemplar.labels == {"trace_id": TRACE} and exemplar.value > 0 and float(exemplar.timestamp) > 1e9
        for exemplar in recorded
    )
    passes = {trace_text(bundle.trace_id) for bundle in kept.named("pass")}
    assert {exemplar.labels["trace_id"] for exemplar in exemplars(opened, "demur_quantum_seconds")} <= passes


@pytest.mark.parametrize("ratio", [None, 0.0])
async def test_what_is_not_recorded_is_nobodys_example(ratio: float | None) -> None:
    chosen = {} if ratio is None else {"tracer": Kept().recorder(ratio)}
    async with serving(rows.TOY, **chosen) as served:
        for protocol in PROTOCOLS:
            await served.ask(protocol, rows.TOY.good)
        opened = (await scraped(served, OPEN)).text
    assert exemplars(opened, "demur_request_seconds") == exemplars(opened, "demur_quantum_seconds") == []


async def test_build_info_tells_what_runs() -> None:
    async with serving(rows.TOY) as served:
        served.metrics.info("1.2.3", "toy:1", profile="cuda-fp32-stacked", provider="cuda")
        labels = {"task": "rows", "version": "1.2.3", "model": "toy:1", "provider": "cuda"}
        labels |= {"profile": "cuda-fp32-stacked"}
        (family,) = (
            candidate for candidate in plain(served.metrics.text().decode()) if candidate.name == "demur_build_info"
        )
    (sample,) = family.samples
    assert labels.items() <= sample.labels.items()
    assert set(sample.labels) - set(labels) == {"bentoml", "grpcio", "onnxruntime", "python"}
    assert all(sample.labels.values()), sample.labels
