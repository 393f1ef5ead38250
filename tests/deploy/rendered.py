"""The manifests as kustomize renders them: overlays, and combinations of components over the base."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from services.runtime.settings import TASKS

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
OVERLAYS = tuple(sorted(path.parent.name for path in (DEPLOY / "overlays").glob("[!.]*/kustomization.yaml")))
COMPONENTS = tuple(sorted(path.name for path in (DEPLOY / "components").iterdir()))
COMBINATIONS: dict[str, tuple[str, ...]] = {
    "one-node": ("sqlite", "tokens"),
    "one-node-guarded": ("gpu", "sqlite", "artefacts-claim", "tokens", "tls", "core-only"),
    "replicas": ("postgres", "tokens"),
    "everything": ("postgres", "tokens", "tls", "mtls", "tracing", "webhooks", "gpu", "artefacts-image"),
    "slices": ("postgres", "gpu", "mig", "tokens"),
    "no-operators": ("postgres", "tokens", "artefacts-image", "core-only"),
}
"""Names to components, in their order, besides what the overlays are made of."""
CANARY = "canary"
"""A canary of one task beside everything else, as deploy/README.md has it."""
RENDERED = (*OVERLAYS, *COMBINATIONS, CANARY)
WITH_OPERATORS = tuple(name for name in RENDERED if name != "cpu-dev" and "core-only" not in COMBINATIONS.get(name, ()))
"""Those that have objects for the Prometheus operator and the Gateway API."""
EXTERNAL = {
    ("Secret", "demur-ledger"): {"url"},
    ("Secret", "demur-tokens"): {"tokens.toml"},
    ("Secret", "demur-scrape"): {"token"},
    ("Secret", "demur-webhooks"): {"secret"},
    ("ConfigMap", "demur-ca"): {"ca.crt"},
}
"""What deploy/README.md asks operators to make, with its keys."""
ISSUED = {"tls.crt", "tls.key", "ca.crt"}
"""Keys of a Secret that cert-manager makes."""

Object = dict[str, Any]


@cache
def rendered(name: str) -> tuple[Object, ...]:
    """The objects of an overlay or combination; do not change them.

    Raises:
        AssertionError: kustomize refuses it; with what it said.
    """
    if name in OVERLAYS:
        return kustomize(DEPLOY / "overlays" / name)
    with tempfile.TemporaryDirectory(dir=DEPLOY / "overlays", prefix=".") as folder:  # kustomize wants relative paths
        if name == CANARY:
            return kustomize(_canary(Path(folder)))
        return kustomize(combination(Path(folder), COMBINATIONS[name]))


def combination(folder: Path, components: tuple[str, ...], resources: tuple[str, ...] = ()) -> Path:
    """Writes an overlay of the base with components; where it is."""
    document = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": [os.path.relpath(DEPLOY / "base", folder), *resources],
        "components": [os.path.relpath(DEPLOY / "components" / name, folder) for name in components],
    }
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(document))
    return folder


def _canary(folder: Path) -> Path:
    """The overlay that deploy/README.md shows, with the folder of the canary in it."""
    text = (DEPLOY / "README.md").read_text()
    blocks = {block.partition("\n")[0]: block for block in text.split("```yaml\n# ")[1:]}
    for start, block in blocks.items():
        path = folder / start.removeprefix("overlays/mine/").strip()
        path.parent.mkdir(exist_ok=True)
        path.write_text(block.partition("```")[0].partition("\n")[2])
    return folder


def kustomize(folder: Path) -> tuple[Object, ...]:
    """The objects that a folder renders to; the test is skipped where there is no kubectl.

    Raises:
        AssertionError: kustomize refuses it; with what it said.
    """
    if shutil.which("kubectl") is None:
        pytest.skip("kubectl is not on the path: manifests cannot be rendered")
    done = subprocess.run(["kubectl", "kustomize", folder], capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    assert not done.stderr, done.stderr
    return tuple(document for document in yaml.load_all(done.stdout, yaml.CSafeLoader) if document)


def of_kind(objects: tuple[Object, ...], *kinds: str) -> list[Object]:
    return [manifest for manifest in objects if manifest["kind"] in kinds]


def one(objects: tuple[Object, ...], kind: str, name: str) -> Object:
    """The object of a kind and name.

    Raises:
        AssertionError: there is not exactly one.
    """
    matches = [each for each in of_kind(objects, kind) if each["metadata"]["name"] == name]
    assert len(matches) == 1, (kind, name, len(matches))
    return matches[0]


def pods(objects: tuple[Object, ...]) -> Iterator[tuple[str, Object, Object]]:
    """Name, labels and specification of pods: of each Deployment, and of each InferenceService as KServe merges it."""
    for deployment in of_kind(objects, "Deployment"):
        template = deployment["spec"]["template"]
        yield deployment["metadata"]["name"], template["metadata"]["labels"], template["spec"]
    runtimes = {runtime["metadata"]["name"]: runtime["spec"] for runtime in of_kind(objects, "ServingRuntime")}
    for service in of_kind(objects, "InferenceService"):
        predictor = service["spec"]["predictor"]
        model, runtime = predictor["model"], runtimes[predictor["model"]["runtime"]]
        (container,) = runtime["containers"]
        merged = container | {
            "env": [*container.get("env", ()), *model.get("env", ())],
            "resources": model.get("resources", container["resources"]),
        }
        spec = {key: value for key, value in predictor.items() if key not in ("model", "labels")}
        yield (
            service["metadata"]["name"],
            predictor["labels"],
            {
                "serviceAccountName": "default",
                **spec,
                "containers": [merged],
                "volumes": runtime["volumes"],
            },
        )


def task_of(labels: Object) -> str | None:
    """The task of a service's pods; None for other pods."""
    task = labels.get("app.kubernetes.io/instance")
    assert task is None or task in TASKS, task
    return task


def component_of(labels: Object) -> str:
    """Return the component of a pod: ``service``, ``monitor`` or ``review``."""
    component: str = labels["app.kubernetes.io/component"]
    return component


def environment(objects: tuple[Object, ...], container: Object) -> dict[str, str | None]:
    """Variables of a container; None stands for what only a Secret or the pod itself knows."""
    variables: dict[str, str | None] = {}
    for source in container.get("envFrom", ()):
        variables |= one(objects, "ConfigMap", source["configMapRef"]["name"])["data"]
    for variable in container.get("env", ()):
        variables[variable["name"]] = variable.get("value")
    return variables


def selects(selector: Object, labels: Object) -> bool:
    """Return whether a label selector, by values or by lists of values, selects labels."""
    assert set(selector) <= {"matchLabels", "matchExpressions"}, selector
    lists = selector.get("matchExpressions", ())
    assert all(each["operator"] == "In" for each in lists), selector
    return selector.get("matchLabels", {}).items() <= labels.items() and all(
        labels.get(each["key"]) in each["values"] for each in lists
    )


def quantity(text: str | int) -> float:
    """A quantity of Kubernetes in its base unit (cores, bytes, counts)."""
    text = str(text)
    for suffix, factor in (("Ki", 2**10), ("Mi", 2**20), ("Gi", 2**30), ("Ti", 2**40), ("m", 1e-3)):
        if text.endswith(suffix):
            return float(text.removesuffix(suffix)) * factor
    return float(text)
