"""The review console in the manifests: whom it calls and who reaches it, and nothing that it does not need."""

from typing import Any
from urllib.parse import urlsplit

import pytest

from services.cli.processes import MONITOR, REVIEW
from services.runtime.review_addresses import service_urls
from services.runtime.settings import TASKS, Settings
from tests.deploy.rendered import (
    COMBINATIONS,
    DEPLOY,
    RENDERED,
    WITH_OPERATORS,
    Object,
    component_of,
    environment,
    of_kind,
    one,
    pods,
    rendered,
    selects,
    task_of,
)

GUARDED = tuple(name for name in RENDERED if name != "cpu-dev")
"""Those with tokens."""
PREDICTOR = "-predictor"
"""Ending of the names of Services that KServe makes."""


def console(name: str) -> tuple[Object, Object]:
    """Labels and specification of the console's pods."""
    ((labels, spec),) = [(labels, spec) for _, labels, spec in pods(rendered(name)) if component_of(labels) == REVIEW]
    return labels, spec


def variables(name: str) -> dict[str, str | None]:
    return environment(rendered(name), console(name)[1]["containers"][0])


@pytest.mark.parametrize("name", RENDERED)
def test_it_calls_the_service_of_each_task_where_that_is(name: str) -> None:
    objects = rendered(name)
    urls = service_urls(variables(name)["DEMUR_REVIEW_SERVICES"] or "")
    assert set(urls) == {*TASKS, MONITOR}
    monitor = urlsplit(urls.pop(MONITOR))
    assert (monitor.hostname, monitor.port) == ("demur-monitor.demur.svc", 3000), "figures of reviewers"
    assert one(objects, "Service", "demur-monitor")["spec"]["ports"][0]["port"] == 3000
    for task, url in urls.items():
        parts = urlsplit(url)
        assert (parts.scheme == "https") == ("DEMUR_TLS_CERTIFICATE" in variables(name)), "as that service is served"
        named, _, domain = (parts.hostname or "").partition(".")
        assert domain == "demur.svc"
        if name == "kserve":
            assert (named, parts.port) == (f"demur-{task}{PREDICTOR}", None), "KServe's Services have port 80"
            one(objects, "InferenceService", named.removesuffix(PREDICTOR))
            continue
        service = one(objects, "Service", named)["spec"]
        assert {port["port"] for port in service["ports"] if port["name"] == "http"} == {parts.port}
        hit = {task_of(labels) for _, labels, _ in pods(objects) if service["selector"].items() <= labels.items()}
        assert hit == {task}


@pytest.mark.parametrize("name", RENDERED)
def test_it_reaches_http_of_the_services_and_names_and_nothing_else(name: str) -> None:
    objects = rendered(name)
    labels, _ = console(name)
    out: set[tuple[Any, ...]] = set()
    for policy in of_kind(objects, "NetworkPolicy"):
        spec = policy["spec"]
        if not selects(spec["podSelector"], labels):
            continue
        for rule in spec.get("egress", ()):
            for peer in rule["to"]:
                inside = "namespaceSelector" not in peer and "podSelector" in peer
                hit = [each for _, each, _ in pods(objects) if inside and selects(peer["podSelector"], each)]
                for port in rule["ports"]:
                    out.add((*sorted({component_of(each) for each in hit}), port["port"]))
    assert out == {("service", 3000), ("monitor", 3000), (53,)}
    for task, task_labels in ((task_of(each), each) for _, each, _ in pods(objects)):
        if task is not None:
            assert (REVIEW, "http") in _callers(name, task_labels), f"{task} lets it in"
            assert (REVIEW, "grpc") not in _callers(name, task_labels)


@pytest.mark.parametrize("name", RENDERED)
def test_it_is_reached_by_gateways_and_callers_only(name: str) -> None:
    objects = rendered(name)
    labels, _ = console(name)
    rules = [
        rule
        for policy in of_kind(objects, "NetworkPolicy")
        if selects(policy["spec"]["podSelector"], labels)
        for rule in policy["spec"].get("ingress", ())
    ]
    (rule,) = rules
    gateways, callers = rule["from"]
    assert gateways == {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "gateways"}}}
    assert callers["podSelector"] == {"matchLabels": {"demur/caller": "true"}}
    assert callers["namespaceSelector"] == {"matchLabels": {"demur/callers": "allowed"}}
    assert [port["port"] for port in rule["ports"]] == ["http"]


@pytest.mark.parametrize("name", RENDERED)
def test_it_has_neither_ledger_nor_secrets_of_others(name: str) -> None:
    _, spec = console(name)
    given = {volume["secret"]["secretName"] for volume in spec["volumes"] if "secret" in volume}
    components = COMBINATIONS.get(name, ())
    assert given <= {"demur-tokens", "demur-tls", "demur-review-tls"}
    assert ("demur-review-tls" in given) == ("mtls" in components), "services ask for the certificates of callers"
    assert not any("persistentVolumeClaim" in volume for volume in spec["volumes"])
    assert "env" not in spec["containers"][0], "of Secrets in variables it needs none"
    read = Settings.read({key: value or "" for key, value in variables(name).items()}, task=REVIEW)
    assert (read.ledger_url, read.ledger_store, read.callbacks, read.request_webhook) == (None, "", "", "")


@pytest.mark.parametrize("name", GUARDED)
def test_reviewers_open_the_address_of_its_route_and_cookies_are_for_tls(name: str) -> None:
    url = urlsplit(variables(name)["DEMUR_REVIEW_URL"] or "")
    assert url.scheme == "https", "cookies are Secure also where the Gateway ends TLS"
    if name in WITH_OPERATORS:
        route = one(rendered(name), "HTTPRoute", "demur-review")["spec"]
        assert route["hostnames"] == [url.hostname]
        (rule,) = route["rules"]
        assert "matches" not in rule, "it is served at /"
    assert f"`{url.hostname}`" in (DEPLOY / "README.md").read_text()


def test_without_tokens_it_has_no_address_for_others() -> None:
    assert not {"DEMUR_TOKENS", "DEMUR_REVIEW_URL"} & set(variables("cpu-dev"))


@pytest.mark.parametrize("name", RENDERED)
def test_replicas_need_no_state_in_common(name: str) -> None:
    deployment = one(rendered(name), "Deployment", "demur-review")["spec"]
    one_node = name == "cpu-dev" or "sqlite" in COMBINATIONS.get(name, ())
    assert deployment["replicas"] == (1 if one_node else 2)
    assert "sessionAffinity" not in one(rendered(name), "Service", "demur-review")["spec"]
    container = deployment["template"]["spec"]["containers"][0]
    assert deployment["template"]["spec"]["terminationGracePeriodSeconds"] > (
        container["lifecycle"]["preStop"]["sleep"]["seconds"] + 10
    )


def _callers(name: str, labels: Object) -> set[tuple[str, str]]:
    """Component and port of the pods of this namespace that policies let in."""
    objects = rendered(name)
    return {
        (component_of(each), port["port"])
        for policy in of_kind(objects, "NetworkPolicy")
        if selects(policy["spec"]["podSelector"], labels)
        for rule in policy["spec"].get("ingress", ())
        for peer in rule["from"]
        if "namespaceSelector" not in peer
        for _, each, _ in pods(objects)
        if selects(peer["podSelector"], each)
        for port in rule["ports"]
    }
