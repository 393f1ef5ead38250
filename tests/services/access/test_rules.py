"""Each route and method has one rule, and each rule is of a route: what is forgotten is refused, and this fails."""

from typing import Any

import pytest
from google.protobuf.descriptor_pool import Default
from grpc_health.v1 import health
from starlette.routing import Route

from demur.v1 import common_pb2, labels_pb2, policy_pb2
from services.access.rules import (
    METHODS,
    MONITOR_ROUTES,
    SERVICE_ROUTES,
    TASK_METHODS,
    GrpcRules,
    HttpRules,
)
from services.monitor.exporter import Exporter
from services.monitor.http import Routes
from services.monitor.http import application as monitor_application
from services.transport.grpc import reflection
from services.transport.oip.servicer import SERVICE as OIP
from tests.contract.serving import serving
from tests.contract.toys.toy import Toy

UNROUTED = {"/livez", "/readyz"}
"""Routes that BentoML answers."""


def declared(routes: Any) -> set[tuple[str, str]]:
    return {(path, method) for path, rules in routes.items() for method in rules if not path.startswith("/v2")}


def routed(routes: list[Any]) -> set[tuple[str, str]]:
    assert all(isinstance(route, Route) for route in routes), "a mount hides its routes"
    return {(route.path, method) for route in routes for method in (route.methods or ()) if method != "HEAD"}


async def test_every_route_of_a_service_has_a_rule_and_every_rule_a_route(toy: Toy) -> None:
    async with serving(toy) as served:
        routes = routed(served.app.routes)
    absent = {(path, method) for path, method in declared(SERVICE_ROUTES) if "{file}" in path or path == "/v1/model"}
    known = {route for route in declared(SERVICE_ROUTES) if route[0] not in UNROUTED}
    assert known - routes <= absent, "a toy has no artefact, and one without files none of their routes"
    assert {route for route in routes if not route[0].startswith("/v2")} <= known
    rules = HttpRules(SERVICE_ROUTES)
    assert [route for route in routes if rules.find(route[1], route[0]) is None] == []


def test_every_route_of_the_monitor_has_a_rule_and_every_rule_a_route() -> None:
    application = monitor_application(Routes(Exporter(), None))  # type: ignore[arg-type]
    assert routed(application.routes) == declared(MONITOR_ROUTES)


async def test_every_grpc_method_has_a_rule_and_every_rule_a_method(toy: Toy) -> None:
    async with serving(toy) as served:
        rules = GrpcRules([served.tenant.grpc.service])
        served_methods = served.server.calls.methods
        own = {f"/{served.tenant.grpc.service}/{name}" for name in TASK_METHODS}
    assert [name for name in served_methods if rules.find(name) is None] == []
    libraries = {
        f"/{service.full_name}/{method.name}"
        for name in (health.SERVICE_NAME,)
        for service in [Default().FindServiceByName(name)]
        for method in service.methods
    } | {f"/{name}/ServerReflectionInfo" for name in reflection.SERVICES}
    assert {f"/{name}" for name in METHODS} - served_methods <= libraries
    assert {name for name in served_methods if name not in own and not name.startswith(f"/{OIP}/")} <= {
        f"/{n}" for n in METHODS
    }


def test_services_of_the_protos_are_all_known() -> None:
    """A method that is declared in a proto and not served yet has its rule before it is."""
    for module in (labels_pb2, policy_pb2, common_pb2):
        for service in module.DESCRIPTOR.services_by_name.values():
            for method in service.methods:
                assert f"{service.full_name}/{method.name}" in METHODS


@pytest.mark.parametrize(
    ("method", "path", "rule"),
    [
        ("GET", "/v1/schema", "any"),
        ("HEAD", "/v1/schema", "any"),
        ("OPTIONS", "/v1/predict", "any"),
        ("POST", "/v1/predict", "predict"),
        ("GET", "/v1/predict", None),
        ("POST", "/v1/predict/", None),
        ("POST", "//v1/predict", None),
        ("POST", "/V1/predict", None),
        ("GET", "/v1/jobs/a", "predict"),
        ("GET", "/v1/jobs/a/b", None),
        ("GET", "/v1/jobs/a\nb", "predict"),
        ("PUT", "/v1/policy/power", "policy"),
        ("GET", "/docs.json", None),
        ("GET", "/v2/health/ready", "open"),
        ("POST", "/v2/health/ready", None),
        ("POST", "/v2/models/m/infer", "predict"),
        ("POST", "/v2/models/m/versions/1/infer", "predict"),
        ("GET", "/v2/models/m/versions/1/ready", "open"),
        ("POST", "/v2/repository/index", "any"),
        ("GET", "/v2/models/m/versions/1/stats", "any"),
        ("GET", "/v2", "any"),
        ("GET", "/v22", None),
    ],
)
def test_rules_by_path(method: str, path: str, rule: str | None) -> None:
    assert HttpRules(SERVICE_ROUTES).find(method, path) == rule


@pytest.mark.parametrize(
    ("method", "rule"),
    [
        ("/toy.Toy/Predict", "predict"),
        ("/other.Toy/Predict", None),
        ("/toy.Toy/Train", None),
        ("/grpc.health.v1.Health/Check", "open"),
        ("/grpc.health.v1.Health/Other", None),
        ("/inference.GRPCInferenceService/ModelInfer", "predict"),
        ("/inference.GRPCInferenceService/ModelReady", "open"),
        ("/inference.GRPCInferenceService/ModelMetadata", "any"),
        ("/inference.Other/ModelInfer", None),
        ("", None),
    ],
)
def test_rules_by_method(method: str, rule: str | None) -> None:
    assert GrpcRules(["toy.Toy"]).find(method) == rule
