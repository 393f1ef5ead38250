"""Access rules: the scope that each route and method requires. A route without a rule is refused for every token.

The review queue is blind: reviewers must not learn the unit of a request. So the audit trail, the history of policies
and erasure, which name units, are not in the scope ``review``.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from services.access.tokens import Rule

Method = Literal["GET", "POST", "PUT", "DELETE"]

SERVICE_ROUTES: Mapping[str, Mapping[Method, Rule]] = {
    "/livez": {"GET": "open"},
    "/readyz": {"GET": "open"},
    "/metrics": {"GET": "metrics"},
    "/v1/predict": {"POST": "predict"},
    "/v1/jobs": {"POST": "predict"},
    "/v1/jobs/{job}": {"GET": "predict", "DELETE": "predict"},
    "/v1/jobs/{job}/events": {"GET": "predict"},
    "/v1/jobs/{job}/files/{file}": {"GET": "predict"},
    "/v1/commit": {"POST": "predict"},
    "/v1/units/{unit}/resolution": {"GET": "predict"},
    "/v1/resolutions": {"POST": "predict"},
    "/v1/resolutions/callbacks": {"POST": "predict"},
    "/v1/labels": {"POST": "label"},
    "/v1/requests": {"GET": "review"},
    "/v1/requests/waiting": {"GET": "review"},
    "/v1/requests/claim": {"POST": "review"},
    "/v1/requests/{request}/input": {"GET": "review"},
    "/v1/requests/{request}/neighbours": {"GET": "review"},
    "/v1/requests/{request}/extend": {"POST": "review"},
    "/v1/requests/{request}/release": {"POST": "review"},
    "/v1/requests/{request}/skip": {"POST": "review"},
    "/v1/requests/{request}/submit": {"POST": "review"},
    "/v1/requests/{request}/correct": {"POST": "review"},
    "/v1/requests/{request}/reveal": {"POST": "review"},
    "/v1/requests/{request}/flag": {"POST": "review"},
    "/v1/erase": {"POST": "policy"},
    "/v1/audit": {"GET": "policy"},
    "/v1/policy": {"GET": "any"},
    "/v1/policy/{head}": {"GET": "policy", "PUT": "policy"},
    "/v1/schema": {"GET": "any"},
    "/v1/model": {"GET": "any"},
    "/v1/openapi.json": {"GET": "any"},
    # the Open Inference Protocol
    "/v2/health/live": {"GET": "open"},
    "/v2/health/ready": {"GET": "open"},
    "/v2/models/{model}/ready": {"GET": "open"},
    "/v2/models/{model}/versions/{version}/ready": {"GET": "open"},
    "/v2/models/{model}/infer": {"POST": "predict"},
    "/v2/models/{model}/versions/{version}/infer": {"POST": "predict"},
    "/v2": {"GET": "any"},
    "/v2/{rest:path}": {"GET": "any", "POST": "any"},
}
"""Rules of a service over HTTP; the first matching path applies. HEAD is as GET, OPTIONS is for any token."""

MONITOR_ROUTES: Mapping[str, Mapping[Method, Rule]] = {
    "/livez": {"GET": "open"},
    "/readyz": {"GET": "open"},
    "/": {"GET": "metrics"},
    "/metrics": {"GET": "metrics"},
    "/v1/live": {"GET": "metrics"},
    "/v1/reviewers": {"GET": "policy"},  # names people
    "/v1/worth": {"GET": "policy"},  # names units, and what kinds of requests wait
    "/v1/worth/kinds": {"GET": "any"},  # reviewers see it after they have labelled
    "/v1/what-if": {"GET": "metrics"},
    "/v1/sketch": {"GET": "metrics"},
}
"""Rules of the monitor, which shows figures of all traffic."""

REVIEW_ROUTES: Mapping[str, Mapping[Method, Rule]] = {
    "/livez": {"GET": "open"},
    "/readyz": {"GET": "open"},
    "/": {"GET": "open"},
    "/static/{version}/{path:path}": {"GET": "open"},
    "/api/session": {"GET": "open", "POST": "open", "DELETE": "open"},
    "/api/monitor/reviewers": {"GET": "any"},  # the monitor has rules of its own
    "/api/monitor/worth": {"GET": "any"},
    "/api/monitor/worth/kinds": {"GET": "any"},
    "/api/tasks": {"GET": "review"},
    "/api/tasks/{task}/requests": {"GET": "review"},
    "/api/tasks/{task}/requests/{request}/scene": {"GET": "review"},
    "/api/tasks/{task}/requests/{request}/slices": {"GET": "review"},
    "/api/tasks/{task}/requests/{request}/slices/{plane}/{number}.png": {"GET": "review"},
    "/api/tasks/{task}/requests/{rest:path}": {"GET": "review", "POST": "review"},
    "/label-studio/{task}/health": {"GET": "open"},
    "/label-studio/{task}/setup": {"POST": "review"},
    "/label-studio/{task}/predict": {"POST": "review"},
    "/label-studio/{task}/webhook": {"POST": "review"},
}
"""Rules of the review console: what is open holds nothing of any unit."""

PROBE_ROUTES: Mapping[str, Mapping[Method, Rule]] = {"/livez": {"GET": "open"}, "/readyz": {"GET": "open"}}
"""Rules of the probes."""

TASK_METHODS: Mapping[str, Rule] = {"Predict": "predict", "PredictStream": "predict", "Describe": "any"}
"""Rules of a task's own gRPC service, whatever its name."""

METHODS: Mapping[str, Rule] = {
    "demur.v1.LabelService/Submit": "label",
    "demur.v1.LabelService/SubmitStream": "label",
    "demur.v1.LabelService/Claim": "review",
    "demur.v1.LabelService/ListWaiting": "review",
    "demur.v1.LabelService/GetInput": "review",
    "demur.v1.LabelService/GetNeighbours": "review",
    "demur.v1.LabelService/Extend": "review",
    "demur.v1.LabelService/Release": "review",
    "demur.v1.LabelService/Skip": "review",
    "demur.v1.LabelService/SubmitClaimed": "review",
    "demur.v1.LabelService/Correct": "review",
    "demur.v1.LabelService/Reveal": "review",
    "demur.v1.LabelService/Flag": "review",
    "demur.v1.LabelService/CountRequests": "review",
    "demur.v1.LabelService/Resolve": "predict",
    "demur.v1.LabelService/WatchResolutions": "predict",
    "demur.v1.LabelService/Commit": "predict",
    "demur.v1.LabelService/Erase": "policy",
    "demur.v1.PolicyService/Show": "any",
    "demur.v1.PolicyService/Set": "policy",
    "demur.v1.PolicyService/History": "policy",
    "grpc.health.v1.Health/Check": "open",
    "grpc.health.v1.Health/Watch": "open",
    "grpc.reflection.v1.ServerReflection/ServerReflectionInfo": "any",
    "grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo": "any",
    # the Open Inference Protocol
    "inference.GRPCInferenceService/ServerLive": "open",
    "inference.GRPCInferenceService/ServerReady": "open",
    "inference.GRPCInferenceService/ModelReady": "open",
    "inference.GRPCInferenceService/ModelInfer": "predict",
    "inference.GRPCInferenceService/ModelStreamInfer": "predict",
}
"""Rules of gRPC methods, besides those of the task."""

METHOD_PREFIXES: Mapping[str, Rule] = {"inference.GRPCInferenceService/": "any"}
"""Rules by prefix, for methods that are not in the table."""


@dataclass(frozen=True, slots=True)
class _Route:
    template: str
    pattern: re.Pattern[str]
    rules: Mapping[str, Rule]


class HttpRules:
    """Lookup of the rule of a request."""

    def __init__(self, routes: Mapping[str, Mapping[Method, Rule]]) -> None:
        self._plain: dict[str, Mapping[str, Rule]] = {}
        self._routes: list[_Route] = []
        for template, rules in routes.items():
            by_method: dict[str, Rule] = {str(method): rule for method, rule in rules.items()} | {"OPTIONS": "any"}
            if "GET" in by_method:
                by_method["HEAD"] = by_method["GET"]
            if "{" in template:
                self._routes.append(_Route(template, _pattern(template), by_method))
            else:
                self._plain[template] = by_method

    def find(self, method: str, path: str) -> Rule | None:
        """Return the rule; None: there is no such route, or not for this method."""
        return (self.methods(path) or {}).get(method)

    def methods(self, path: str) -> Mapping[str, Rule] | None:
        """Return the rules of a path by method; None: there is no such route."""
        plain = self._plain.get(path)
        if plain is not None:
            return plain
        return next((route.rules for route in self._routes if route.pattern.fullmatch(path)), None)


class GrpcRules:
    """Lookup of the rule of a gRPC method."""

    def __init__(self, services: Iterable[str]) -> None:
        """``services`` are the names of the task's own services."""
        own = {f"/{service}/{name}": rule for service in services for name, rule in TASK_METHODS.items()}
        self._rules: dict[str, Rule] = own | {f"/{name}": rule for name, rule in METHODS.items()}

    def find(self, method: str) -> Rule | None:
        """Return the rule of ``/package.Service/Method``; None: there is none."""
        own = self._rules.get(method)
        if own is not None:
            return own
        return next((rule for prefix, rule in METHOD_PREFIXES.items() if method.startswith(f"/{prefix}")), None)


def _pattern(template: str) -> re.Pattern[str]:
    parts = re.split(r"\{\w+(:path)?\}", template)
    texts, rests = parts[::2], parts[1::2]
    pattern = re.escape(texts[0])
    for rest, text in zip(rests, texts[1:], strict=True):
        pattern += (".*" if rest else "[^/]+") + re.escape(text)
    return re.compile(pattern, re.DOTALL)
