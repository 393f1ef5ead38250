"""Manifests render, are what their schemas say to the last key, and say everything once."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from services.runtime.settings import TASKS
from tests.deploy import prometheus_rules
from tests.deploy.rendered import (
    COMBINATIONS,
    COMPONENTS,
    DEPLOY,
    OVERLAYS,
    RENDERED,
    Object,
    combination,
    kustomize,
    of_kind,
    one,
    rendered,
)
from tests.deploy.schemas import complaints
from tests.prometheus import run

PATCH_LINES = 20
CLUSTER_WIDE = {"Namespace", "PriorityClass"}
MAY_DIFFER = {
    "Deployment": {"resources", "terminationGracePeriodSeconds", "demur/gpu"},
    "HorizontalPodAutoscaler": {"averageValue"},
    "ConfigMap": set(),
}
"""Keys by which the objects of two tasks may differ, besides the task's name."""


@pytest.mark.parametrize("name", RENDERED)
def test_every_object_is_what_its_schema_says(name: str) -> None:
    objects = rendered(name)
    errors = {f"{manifest['kind']}/{manifest['metadata']['name']}": complaints(manifest) for manifest in objects}
    assert {name: wrong for name, wrong in errors.items() if wrong} == {}
    assert len(errors) == len(objects), "a kind and name twice"
    outside = {manifest["metadata"].get("namespace") for manifest in objects if manifest["kind"] not in CLUSTER_WIDE}
    assert outside == {"demur"}


def test_every_component_is_in_some_combination() -> None:
    used = {name for components in COMBINATIONS.values() for name in components} | {"canary"}
    assert used == set(COMPONENTS)
    kinds = {manifest["kind"] for name in RENDERED for manifest in rendered(name)}
    assert {path.stem for path in (Path(__file__).parent / "crds").glob("*.json")} - {"gateway"} <= {
        kind.lower() for kind in kinds
    }, "a schema that nothing is held against"


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("tasks", ["base/tasks", "overlays/kserve/tasks"])
def test_a_task_is_a_small_patch_of_the_template(tasks: str, task: str) -> None:
    folder = DEPLOY / tasks / task
    assert [path.name for path in folder.iterdir()] == ["kustomization.yaml"]
    document = yaml.safe_load((folder / "kustomization.yaml").read_text())
    assert set(document) <= {
        *("apiVersion", "kind", "resources", "nameSuffix", "labels"),
        "configMapGenerator",
        "patches",
    }
    assert len(document["resources"]) == 1, "the template"
    assert sum(len(patch["patch"].splitlines()) for patch in document["patches"]) <= PATCH_LINES


@pytest.mark.parametrize("kind", MAY_DIFFER)
def test_tasks_differ_in_little_else_than_their_name(kind: str) -> None:
    objects = [manifest for manifest in of_kind(rendered("replicas"), kind) if manifest["metadata"].get("labels")]
    plain = {
        task: _plain(
            next(o for o in objects if o["metadata"]["labels"].get("app.kubernetes.io/instance") == task), task
        )
        for task in TASKS
    }
    for task in TASKS:
        differing = {path[-1] for path in _differing(plain["vessel"], plain[task])}
        assert differing <= MAY_DIFFER[kind], (task, differing)


def test_rules_of_the_operator_are_the_rules() -> None:
    assert prometheus_rules.PATH.read_text() == prometheus_rules.text(), "python -m tests.deploy.prometheus_rules"


@pytest.mark.parametrize("name", ["gpu-prod", "kserve"])
def test_promtool_accepts_the_rendered_rules(name: str, tmp_path: Path) -> None:
    (rule,) = of_kind(rendered(name), "PrometheusRule")
    path = tmp_path / "rules.yaml"
    path.write_text(yaml.safe_dump(rule["spec"]))
    assert "SUCCESS" in run("promtool", "check", "rules", path)


@pytest.mark.parametrize("name", ["gpu-prod", "kserve"])
def test_dashboards_are_those_of_the_repository(name: str) -> None:
    config = one(rendered(name), "ConfigMap", "demur-dashboards")
    assert config["metadata"]["labels"]["grafana_dashboard"] == "1"
    for path in (DEPLOY / "observability" / "dashboards").glob("*.json"):
        assert json.loads(config["data"].pop(path.name)) == json.loads(path.read_text())
    assert config["data"] == {}


def test_only_kubernetes_own_kinds_are_left_by_core_only() -> None:
    for name in ("cpu-dev", "no-operators"):
        groups = {manifest["apiVersion"].rpartition("/")[0] for manifest in rendered(name)}
        assert groups <= {"", "apps", "autoscaling", "policy", "networking.k8s.io", "scheduling.k8s.io"}, name


def test_a_component_in_the_wrong_order_is_refused(tmp_path: Path) -> None:
    """Loudly, by kustomize: an init container, or a way to roll out, that another component took away."""
    with pytest.raises(AssertionError, match="rollingUpdate"):
        kustomize(combination(tmp_path, ("sqlite", "gpu")))


WRONG: dict[str, tuple[str, tuple[str | int, ...], Any]] = {
    "a misspelt key of a container": ("Deployment", ("spec", "template", "spec", "containers", 0, "livenesProbe"), {}),
    "a number for a string": ("Deployment", ("spec", "template", "spec", "priorityClassName"), 7),
    "a misspelt key of a monitor": ("ServiceMonitor", ("spec", "endpoints", 0, "intervall"), "15s"),
    "a numeric port of a monitor": ("ServiceMonitor", ("spec", "endpoints", 0, "port"), 3000),
    "a scheme that is none": ("PodMonitor", ("spec", "podMetricsEndpoints", 0, "scheme"), "grpc"),
    "a misspelt key of a route": ("GRPCRoute", ("spec", "rules", 0, "backendRef"), []),
    "a weight in words": ("HTTPRoute", ("spec", "rules", 0, "backendRefs", 0, "weight"), "all"),
    "a misspelt key of a certificate": ("Certificate", ("spec", "dnsName"), ["a"]),
    "a misspelt key of a rule": ("PrometheusRule", ("spec", "groups", 0, "rules", 0, "annotation"), {}),
    "nothing where something is meant": ("HTTPRoute", ("metadata", "labels", "a"), None),
    "a misspelt key of a runtime": ("ServingRuntime", ("spec", "containers", 0, "readynessProbe"), {}),
    "a misspelt key of a predictor": ("InferenceService", ("spec", "predictor", "minReplica"), 1),
    "words for a count": ("InferenceService", ("spec", "predictor", "minReplicas"), "two"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_schema_refuses(case: str) -> None:
    kind, path, value = WRONG[case]
    name = "kserve" if kind in ("ServingRuntime", "InferenceService") else "gpu-prod"
    thing = json.loads(json.dumps(of_kind(rendered(name), kind)[0]))
    assert complaints(thing) == []
    place = thing
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    assert complaints(thing) != []


def test_a_kind_without_schema_fails() -> None:
    for version, kind in (
        ("v1", "Widget"),
        ("monitoring.coreos.com/v1", "Probe"),
        ("cert-manager.io/v2", "Certificate"),
    ):
        with pytest.raises(AssertionError, match="no schema"):
            complaints({"apiVersion": version, "kind": kind, "metadata": {"name": "a"}})


def test_no_secret_is_in_the_repository() -> None:
    for name in (*OVERLAYS, *COMBINATIONS):
        assert of_kind(rendered(name), "Secret") == [], name


def _plain(thing: Object, task: str) -> Any:
    """An object without its task's name, and with lists as mappings, so that they can be compared."""
    text = json.dumps(thing).replace(task, "TASK")
    if thing["kind"] == "Deployment":  # behind the name of each ConfigMap stands the hash of its content
        for source in thing["spec"]["template"]["spec"]["containers"][0]["envFrom"]:
            text = text.replace(source["configMapRef"]["name"].replace(task, "TASK"), "CONFIG")
    plain = json.loads(text)
    if thing["kind"] == "ConfigMap":
        plain["metadata"]["name"] = "CONFIG"
    plain["metadata"].get("labels", {}).pop("demur/gpu", None)
    return plain


def _differing(a: Any, b: Any, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Paths at which two documents differ, down to the first key that may."""
    if isinstance(a, dict) and isinstance(b, dict) and (not path or path[-1] not in set().union(*MAY_DIFFER.values())):
        return [
            difference
            for key in sorted({*a, *b})
            for difference in _differing(a.get(key), b.get(key), (*path, str(key)))
        ]
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        return [difference for item, other in zip(a, b, strict=True) for difference in _differing(item, other, path)]
    return [] if a == b else [path]
