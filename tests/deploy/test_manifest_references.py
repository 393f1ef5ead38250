"""What names something names something that is there: labels, ports, objects, keys, metrics, hosts."""

import json
from fnmatch import fnmatch
from typing import Any

import pytest
import yaml

from tests.deploy.places import FOLDER, rules
from tests.deploy.promql import matched_labels, metrics
from tests.deploy.rendered import (
    DEPLOY,
    EXTERNAL,
    ISSUED,
    RENDERED,
    WITH_OPERATORS,
    Object,
    component_of,
    of_kind,
    one,
    pods,
    quantity,
    rendered,
    selects,
)

README = DEPLOY / "README.md"
ADAPTER = DEPLOY / "autoscaling" / "prometheus-adapter.yaml"
WITH_SERVICES = tuple(name for name in RENDERED if name != "kserve")
"""KServe makes Services, autoscalers and routes itself."""


def ports(spec: Object) -> dict[str, int]:
    """Names of the ports of a pod."""
    return {port["name"]: port["containerPort"] for each in spec["containers"] for port in each.get("ports", ())}


@pytest.mark.parametrize("name", WITH_SERVICES)
def test_selectors_hit_the_pods_that_they_mean(name: str) -> None:
    objects = rendered(name)
    labels = {deployment: pod_labels for deployment, pod_labels, _ in pods(objects)}
    for deployment in of_kind(objects, "Deployment"):
        hit = [each for each, pod_labels in labels.items() if selects(deployment["spec"]["selector"], pod_labels)]
        assert hit == [deployment["metadata"]["name"]], "a Deployment takes its own pods, and no other's"
        for spread in deployment["spec"]["template"]["spec"].get("topologySpreadConstraints", ()):
            assert spread["labelSelector"] == deployment["spec"]["selector"]
    for service in of_kind(objects, "Service"):
        selector = {"matchLabels": service["spec"]["selector"]}
        (hit,) = [each for each, pod_labels in labels.items() if selects(selector, pod_labels)]
        own = service["metadata"]["name"].replace("demur-headless-", "demur-")
        assert hit == own, service["metadata"]["name"]
        spec = one(objects, "Deployment", hit)["spec"]["template"]["spec"]
        known = ports(spec)
        for port in service["spec"]["ports"]:
            assert known[port["targetPort"]] == port["port"], "one number for a port, wherever it is"
            assert port["targetPort"] == port["name"]


@pytest.mark.parametrize("name", RENDERED)
def test_what_pods_refer_to_is_there(name: str) -> None:
    objects = rendered(name)
    held = {(each["kind"], each["metadata"]["name"]): set(each.get("data", ())) for each in objects}
    for certificate in of_kind(objects, "Certificate"):
        held["Secret", certificate["spec"]["secretName"]] = ISSUED
    for pod, _, spec in pods(objects):
        for kind, named, key in _references(spec):
            known = held | EXTERNAL
            assert (kind, named) in known, (pod, kind, named)
            assert key is None or key in known[kind, named], (pod, kind, named, key)


@pytest.mark.parametrize("name", RENDERED)
def test_volumes_are_there_and_used(name: str) -> None:
    for pod, _, spec in pods(rendered(name)):
        each = [*spec["containers"], *spec.get("initContainers", ())]
        mounted = {mount["name"] for container in each for mount in container["volumeMounts"]}
        assert mounted == {volume["name"] for volume in spec["volumes"]}, pod
        for container in each:
            paths = [mount["mountPath"] for mount in container["volumeMounts"]]
            assert len(paths) == len(set(paths)), pod


def test_what_operators_have_to_make_is_documented_and_used() -> None:
    text = README.read_text()
    used = {
        (kind, named)
        for name in RENDERED
        for _, _, spec in pods(rendered(name))
        for kind, named, _ in _references(spec)
    }
    used |= {
        reference
        for name in RENDERED
        for each in of_kind(rendered(name), "PodMonitor", "ServiceMonitor", "BackendTLSPolicy")
        for reference in _scraping(each)
    }
    for (kind, named), keys in EXTERNAL.items():
        assert (kind, named) in used, named
        for word in (named, *keys):
            assert f"`{word}`" in text, word


@pytest.mark.parametrize("name", WITH_SERVICES)
def test_autoscalers_and_budgets_fit_what_they_are_for(name: str) -> None:
    objects = rendered(name)
    scaled = {}
    for scaler in of_kind(objects, "HorizontalPodAutoscaler"):
        target = scaler["spec"]["scaleTargetRef"]
        deployment = one(objects, target["kind"], target["name"])
        assert target["apiVersion"] == deployment["apiVersion"]
        assert "replicas" not in deployment["spec"], "two would say how many"
        assert 2 <= scaler["spec"]["minReplicas"] < scaler["spec"]["maxReplicas"]
        assert scaler["spec"]["behavior"]["scaleDown"]["stabilizationWindowSeconds"] >= 300
        scaled[target["name"]] = scaler["spec"]["minReplicas"]
    disrupted = {}
    for budget in of_kind(objects, "PodDisruptionBudget"):
        hit = [pod for pod, labels, _ in pods(objects) if selects(budget["spec"]["selector"], labels)]
        assert len(hit) == 1, budget["metadata"]["name"]
        disrupted[hit[0]] = budget["spec"]
    scaled |= {
        deployment["metadata"]["name"]: deployment["spec"]["replicas"]
        for deployment in of_kind(objects, "Deployment")
        if deployment["metadata"]["name"] not in scaled and deployment["spec"].get("replicas", 1) > 1
        if "canary" not in deployment["metadata"]["name"]
    }
    assert set(disrupted) == set(scaled), "a budget where there are replicas, and only there"
    for pod, budget in disrupted.items():
        assert budget.get("maxUnavailable", 1) >= 1
        assert budget.get("minAvailable", 0) < scaled[pod], "a node could never be emptied"


def test_autoscalers_look_at_load_that_is_exported_and_adapted(series: dict[str, set[str]]) -> None:
    adapted = {}
    for rule in yaml.safe_load(ADAPTER.read_text())["rules"]:
        metric = rule["seriesQuery"].partition("{")[0]
        assert rule["name"]["as"] == metric
        assert (
            set(rule["resources"]["overrides"])
            == {"namespace", "pod"}
            == {m[1] for m in matched_labels(rule["seriesQuery"])}
        )
        assert "<<.GroupBy>>" in rule["metricsQuery"]
        adapted[metric] = rule
    expected = {
        metric["pods"]["metric"]["name"]
        for name in WITH_SERVICES
        for scaler in of_kind(rendered(name), "HorizontalPodAutoscaler")
        for metric in scaler["spec"]["metrics"]
    }
    assert expected == set(adapted)
    assert expected <= set(series)
    assert not any("abstain" in metric or "units" in metric for metric in expected), "abstention is no load"


@pytest.mark.parametrize("name", WITH_OPERATORS)
def test_prometheus_reads_every_pod_once_under_the_name_that_alerts_know(name: str) -> None:
    objects = rendered(name)
    reading: dict[str, list[str]] = {pod: [] for pod, _, _ in pods(objects)}
    (of_pods,), (of_services,) = of_kind(objects, "PodMonitor"), of_kind(objects, "ServiceMonitor")
    for pod, labels, spec in pods(objects):
        if selects(of_pods["spec"]["selector"], labels):
            (endpoint,) = of_pods["spec"]["podMetricsEndpoints"]
            assert endpoint["port"] in ports(spec)
            reading[pod].append(labels[of_pods["spec"]["jobLabel"]])
        for service in of_kind(objects, "Service"):
            if selects(of_services["spec"]["selector"], service["metadata"]["labels"]) and (
                service["spec"]["selector"].items() <= labels.items()
            ):
                (endpoint,) = of_services["spec"]["endpoints"]
                assert endpoint["port"] in {port["name"] for port in service["spec"]["ports"]}
                reading[pod].append(service["metadata"]["labels"][of_services["spec"]["jobLabel"]])
    jobs_of = {"service": ["demur"], "monitor": ["demur-monitor"], "review": []}  # the console has no metrics
    assert reading == {pod: jobs_of[component_of(labels)] for pod, labels, _ in pods(objects)}
    jobs = {job["job_name"] for job in yaml.safe_load((FOLDER / "prometheus.yml").read_text())["scrape_configs"]}
    assert {job for readers in reading.values() for job in readers} <= jobs, (
        "as deploy/observability/prometheus.yml has them"
    )


def test_rendered_alerts_read_what_is_exported(series: dict[str, set[str]]) -> None:
    (rule,) = of_kind(rendered("gpu-prod"), "PrometheusRule")
    queries = [each["expr"] for group in rule["spec"]["groups"] for each in group["rules"]]
    assert len(queries) == len([*rules()])
    assert {metric for expression in queries for metric in metrics(expression)} <= set(series)


@pytest.mark.parametrize("name", RENDERED)
def test_policies_hit_pods_and_ports_and_leave_no_pod_without(name: str) -> None:
    objects = rendered(name)
    policies = {policy["metadata"]["name"]: policy["spec"] for policy in of_kind(objects, "NetworkPolicy")}
    assert policies["default-deny"] == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    reached: dict[str, set[Any]] = {pod: set() for pod, _, _ in pods(objects)}
    for policy, spec in policies.items():
        hit = [(pod, template) for pod, labels, template in pods(objects) if selects(spec["podSelector"], labels)]
        assert hit, f"{policy} is for no pod"
        for rule in spec.get("ingress", ()):
            assert rule["from"], f"{policy} is open to all"
            for pod, pod_spec in hit:
                for port in rule["ports"]:
                    assert port["port"] in ports(pod_spec), (policy, pod, port)
                    reached[pod].add(port["port"])
        for rule in spec.get("egress", ()):
            assert rule["to"], f"{policy} lets out to all"
            assert all(isinstance(port["port"], int) for port in rule["ports"])
    for pod, _, spec in pods(objects):
        assert reached[pod] == set(ports(spec)) - {"probes"}, "what is served can be reached; kubelet needs no policy"


@pytest.mark.parametrize("name", [name for name in WITH_OPERATORS if name != "kserve"])
def test_routes_lead_to_services(name: str) -> None:
    objects = rendered(name)
    hosts: list[tuple[str, str]] = []
    for route in of_kind(objects, "HTTPRoute", "GRPCRoute"):
        (rule,), (host,) = route["spec"]["rules"], route["spec"]["hostnames"]
        hosts.append((route["kind"], host))
        protocol = "http" if route["kind"] == "HTTPRoute" else "grpc"
        for backend in rule["backendRefs"]:
            service = one(objects, "Service", backend["name"])
            assert {port["name"]: port["port"] for port in service["spec"]["ports"]}[protocol] == backend["port"]
            instance = service["spec"]["selector"].get("app.kubernetes.io/instance", "review")
            assert instance == host.partition(".")[0]
        assert sum(backend["weight"] for backend in rule["backendRefs"]) == 100
        (parent,) = route["spec"]["parentRefs"]
        assert f"`{parent['sectionName']}`" in README.read_text(), "the listener that somebody has to make"
    assert len(hosts) == len(set(hosts)) == 11, "two of each task, and one of the review console"


@pytest.mark.parametrize("name", ["gpu-prod", "one-node-guarded", "everything"])
def test_certificates_are_of_the_names_that_are_asked_for(name: str) -> None:
    objects = rendered(name)
    names = one(objects, "Certificate", "demur")["spec"]["dnsNames"]
    hosts = [f"{service['metadata']['name']}.demur.svc" for service in of_kind(objects, "Service")]
    routed = {
        ref["name"] for route in of_kind(objects, "HTTPRoute") for ref in route["spec"]["rules"][0]["backendRefs"]
    }
    for policy in of_kind(objects, "BackendTLSPolicy"):
        hosts.append(policy["spec"]["validation"]["hostname"])
        assert {target["name"] for target in policy["spec"]["targetRefs"]} == routed
    for monitor, key in (("PodMonitor", "podMetricsEndpoints"), ("ServiceMonitor", "endpoints")):
        for each in of_kind(objects, monitor):
            (endpoint,) = each["spec"][key]
            assert endpoint["scheme"] == "https"
            hosts.append(endpoint["tlsConfig"]["serverName"])
    for certificate in of_kind(objects, "Certificate"):
        assert f"`{certificate['spec']['issuerRef']['name']}`" in README.read_text()
    for host in hosts:
        assert any(fnmatch(host, pattern) and host.count(".") == pattern.count(".") for pattern in names), host


@pytest.mark.parametrize("name", WITH_SERVICES)
def test_the_quota_holds_everything_at_its_largest(name: str) -> None:
    """While it is rolled out, too; what it leaves over says that somebody thought of it."""
    objects = rendered(name)
    most = {
        scaler["spec"]["scaleTargetRef"]["name"]: scaler["spec"]["maxReplicas"]
        for scaler in of_kind(objects, "HorizontalPodAutoscaler")
    }
    needed: dict[str, float] = {}
    for deployment in of_kind(objects, "Deployment"):
        surge = deployment["spec"]["strategy"].get("rollingUpdate", {}).get("maxSurge", 0)
        count = most.get(deployment["metadata"]["name"], deployment["spec"].get("replicas", 1)) + surge
        needed["pods"] = needed.get("pods", 0) + count
        for container in deployment["spec"]["template"]["spec"]["containers"]:
            for side, amounts in container["resources"].items():
                for resource, amount in amounts.items():
                    key = resource if side == "" else f"{side}.{resource}"
                    needed[key] = needed.get(key, 0) + count * quantity(amount)
    needed["persistentvolumeclaims"] = len(of_kind(objects, "PersistentVolumeClaim"))
    hard = {key: quantity(amount) for key, amount in one(objects, "ResourceQuota", "demur")["spec"]["hard"].items()}
    assert {key for key in hard if "nvidia" in key} == {key for key in needed if key.startswith("requests.nvidia")}
    assert {key: (amount, hard[key]) for key, amount in needed.items() if key in hard and amount > hard[key]} == {}


def _references(spec: Object) -> list[tuple[str, str, str | None]]:
    """Kind, name and key of everything that a pod refers to."""
    references: list[tuple[str, str, str | None]] = []
    if (account := spec.get("serviceAccountName")) not in (None, "default"):
        references.append(("ServiceAccount", account, None))
    references.append(("PriorityClass", spec["priorityClassName"], None))
    for container in (*spec["containers"], *spec.get("initContainers", ())):
        for source in container.get("envFrom", ()):
            references.append(("ConfigMap", source["configMapRef"]["name"], None))
        for variable in container.get("env", ()):
            for kind, chosen in variable.get("valueFrom", {}).items():
                if kind != "fieldRef":
                    references.append(
                        (kind[0].upper() + kind[1:].removesuffix("KeyRef"), chosen["name"], chosen["key"])
                    )
    for volume in spec["volumes"]:
        if "persistentVolumeClaim" in volume:
            references.append(("PersistentVolumeClaim", volume["persistentVolumeClaim"]["claimName"], None))
        if "configMap" in volume:
            references.append(("ConfigMap", volume["configMap"]["name"], None))
        if "secret" in volume:
            references.append(("Secret", volume["secret"]["secretName"], None))
    return references


def _scraping(thing: Object) -> list[tuple[str, str]]:
    """Secrets and ConfigMaps that a monitor or policy refers to."""
    text = json.dumps(thing)
    return [(kind, named) for kind, named in EXTERNAL if f'"name": "{named}"' in text]
