"""Pods run as they should: settings that are read, time to end, memory for what may queue, no rights beyond that."""

from collections.abc import Iterator
from pathlib import PurePosixPath

import pytest

from models import artefact
from services.app.reference import folder
from services.cli.processes import COMPANIONS, MONITOR, REVIEW
from services.cli.up import START_SECONDS
from services.runtime.ports import monitor_address, review_address
from services.runtime.settings import Settings
from services.runtime.variables import SettingsError
from services.tasks import DEFAULT_MODELS
from tests.deploy.rendered import (
    COMBINATIONS,
    DEPLOY,
    RENDERED,
    Object,
    component_of,
    environment,
    kustomize,
    of_kind,
    one,
    pods,
    quantity,
    rendered,
    task_of,
)

ADDRESSES = {MONITOR: monitor_address, REVIEW: review_address}
SECRETS = {"DEMUR_LEDGER": "postgresql+psycopg://demur:secret@ledger/demur", "DEMUR_WEBHOOK_SECRET": "0123456789abcdef"}
"""Something like what Secrets hold."""
FILES = {
    "DEMUR_TOKENS": "secret",
    "DEMUR_TLS_CERTIFICATE": "secret",
    "DEMUR_TLS_KEY": "secret",
    "DEMUR_TLS_CLIENT_CA": "secret",
    "DEMUR_CLIENT_CERTIFICATE": "secret",
    "DEMUR_CLIENT_KEY": "secret",
    "DEMUR_ROOTS": "configMap",
}
"""Variables that name a file, and what holds it."""
OWN_BYTES = 512 << 20
"""Memory of a process with its model, generously."""
BENTO_SECONDS = 5
"""By which BentoML's grace is longer than the drain; see services/cli/serve.py."""
USER = 10001
WITH_GPU = ("gpu-prod", *(name for name, components in COMBINATIONS.items() if "gpu" in components))


def each(*names: str) -> Iterator[tuple[str, Object, Object, Object]]:
    """Labels, specification and main container of every pod, with where it is rendered."""
    for name in names:
        for pod, labels, spec in pods(rendered(name)):
            yield f"{name}: {pod}", labels, spec, spec["containers"][0]


def settings(name: str, labels: Object, container: Object) -> Settings:
    """What a process of this pod reads."""
    variables = {
        key: SECRETS.get(key, "") if value is None else value
        for key, value in environment(rendered(name), container).items()
    }
    return Settings.read(variables, task=task_of(labels) or component_of(labels))


@pytest.mark.parametrize("name", RENDERED)
def test_variables_are_settings_that_can_be_read(name: str) -> None:
    for pod, labels, _, container in each(name):
        variables = environment(rendered(name), container)
        assert Settings.strangers(variables) == {}, pod
        read = settings(name, labels, container)
        assert variables.get("DEMUR_TASK") == task_of(labels), pod
        assert str(read.home) == "/var/lib/demur"
        known = {port["name"]: port["containerPort"] for port in container["ports"]}
        if task_of(labels) is None:
            assert tuple(container["args"]) == COMPANIONS[component_of(labels)]
            assert known.pop("http") == ADDRESSES[component_of(labels)](read)[1] == 3000
        else:
            assert container["args"] == ["serve"]
            assert (known.pop("http"), known.pop("grpc")) == read.ports == (3000, 4000)
        assert set(known.values()) <= {3100}
        assert bool(known) == (variables.get("DEMUR_PROBE_PORT") == "3100") == ("DEMUR_TLS_CERTIFICATE" in variables), (
            pod
        )


@pytest.mark.parametrize("name", RENDERED)
def test_paths_of_settings_are_mounted(name: str) -> None:
    for pod, labels, spec, container in each(name):
        volumes = {volume["name"]: volume for volume in spec["volumes"]}
        mounts = {mount["mountPath"]: mount for mount in container["volumeMounts"]}
        variables = environment(rendered(name), container)
        writable = {path for path, mount in mounts.items() if not mount.get("readOnly")}
        assert (
            {"/var/lib/demur", "/tmp"} <= writable <= {"/var/lib/demur", "/tmp", "/var/lib/demur/evidence", "/dev/shm"}
        )
        assert variables["BENTOML_HOME"].startswith("/tmp/"), "BentoML writes there"  # type: ignore[union-attr]
        for key, value in variables.items():
            if key in FILES:
                path = PurePosixPath(value or "")
                mount = mounts[str(path.parent)]
                assert mount["readOnly"], pod
                assert "subPath" not in mount, "a renewed Secret would not arrive"
                assert FILES[key] in volumes[mount["name"]], pod
        if variables.get("DEMUR_LEDGER_STORE"):
            volume = volumes[mounts[variables["DEMUR_LEDGER_STORE"]]["name"]]
            claim = one(rendered(name), "PersistentVolumeClaim", volume["persistentVolumeClaim"]["claimName"])
            assert claim["spec"]["accessModes"] == ["ReadWriteMany"], "all replicas and the monitor read it"
        if task_of(labels) is not None and name != "kserve":
            assert mounts[variables["DEMUR_ARTEFACTS"]]["readOnly"], pod  # type: ignore[index]


@pytest.mark.parametrize("name", RENDERED)
def test_pods_have_the_time_to_end(name: str) -> None:
    for pod, labels, spec, container in each(name):
        if task_of(labels) is None:
            continue
        drain = settings(name, labels, container).drain_seconds
        asleep = container["lifecycle"]["preStop"]["sleep"]["seconds"]
        assert spec["terminationGracePeriodSeconds"] > asleep + drain + (drain + BENTO_SECONDS), pod
        assert asleep >= 5, "endpoints are not told at once"


@pytest.mark.parametrize("name", RENDERED)
def test_probes_ask_what_answers(name: str) -> None:
    for pod, labels, _, container in each(name):
        probes = {kind: container[f"{kind}Probe"] for kind in ("startup", "readiness", "liveness")}
        known = {port["name"]: port["containerPort"] for port in container["ports"]}
        encrypted = "DEMUR_TLS_CERTIFICATE" in environment(rendered(name), container)
        for probe in probes.values():
            if "grpc" in probe:
                assert probe["grpc"]["port"] == known["grpc"]
                assert not encrypted, f"{pod}: kubelet's gRPC probe speaks no TLS"
            else:
                port = probe["httpGet"]["port"]
                assert known.get(port, port) in known.values()
                assert not encrypted or port == "probes", pod
                assert probe["httpGet"].get("scheme", "HTTP") == "HTTP"
        assert probes["liveness"]["httpGet"]["path"] == "/livez", "never what it depends on"
        startup = probes["startup"]
        assert startup["failureThreshold"] * startup["periodSeconds"] >= 120, pod
        if task_of(labels) is not None:
            assert encrypted or "grpc" in startup, "loaded, tested and warm: gRPC listens only then, and says SERVING"
            assert not encrypted or startup["httpGet"]["path"] == "/readyz"
            assert probes["readiness"]["httpGet"]["path"] == "/readyz", (
                "a flood, which refuses gRPC, must take no pod out"
            )


@pytest.mark.parametrize("name", RENDERED)
def test_resources_are_enough_for_what_settings_allow(name: str) -> None:
    for pod, labels, spec, container in each(name):
        limits, requests = container["resources"]["limits"], container["resources"]["requests"]
        assert quantity(limits["cpu"]).is_integer(), f"{pod}: lanes are whole cores"
        assert name == "cpu-dev" or limits == requests, pod
        assert all(quantity(requests[key]) <= quantity(limits[key]) for key in limits)
        variables = environment(rendered(name), container)
        assert (variables["OMP_NUM_THREADS"], variables.get("DEMUR_LANES", "0")) == ("1", "0"), (
            "lanes are all the parallelism"
        )
        volumes = {volume["name"]: volume.get("emptyDir", {}) for volume in spec["volumes"]}
        if task_of(labels) is None:
            continue
        read = settings(name, labels, container)
        in_memory = sum(quantity(v["sizeLimit"]) for v in volumes.values() if v.get("medium") == "Memory")
        needed = OWN_BYTES + read.queue_bytes + read.max_job_bytes + read.explore_bytes + in_memory
        assert quantity(limits["memory"]) >= needed, (pod, needed / 2**30)
        if "sizeLimit" in volumes["home"]:
            assert quantity(volumes["home"]["sizeLimit"]) > read.journal_bytes, f"{pod}: a full journal evicts it"
        on_disk = sum(quantity(v["sizeLimit"]) for v in volumes.values() if "sizeLimit" in v and "medium" not in v)
        assert quantity(limits["ephemeral-storage"]) >= on_disk, pod


@pytest.mark.parametrize("name", RENDERED)
def test_pods_may_do_nothing_that_they_need_not(name: str) -> None:
    """The restricted profile of Kubernetes, and a root that nothing can be written to."""
    for pod, _, spec, _ in each(name):
        assert spec["automountServiceAccountToken"] is False, pod
        assert spec["enableServiceLinks"] is False, f"{pod}: a Service demur-monitor would set DEMUR_MONITOR_PORT"
        assert not any(spec.get(key) for key in ("hostNetwork", "hostPID", "hostIPC"))
        assert not any("hostPath" in volume for volume in spec["volumes"])
        for container in (*spec["containers"], *spec.get("initContainers", ())):
            security = spec["securityContext"] | container["securityContext"]
            assert security["runAsNonRoot"] is True
            assert security["runAsUser"] == security["runAsGroup"] == security["fsGroup"] == USER
            assert security["readOnlyRootFilesystem"] is True
            assert security["allowPrivilegeEscalation"] is False
            assert security["capabilities"] == {"drop": ["ALL"]}
            assert security["seccompProfile"] == {"type": "RuntimeDefault"}
            assert container["resources"]["limits"]["memory"]
            assert "command" not in container, "the image's entry point hands signals on"
    enforced = one(rendered(name), "Namespace", "demur")["metadata"]["labels"]
    assert enforced["pod-security.kubernetes.io/enforce"] == "restricted"


@pytest.mark.parametrize("name", ["gpu-prod", "kserve"])
def test_images_of_production_are_digests(name: str) -> None:
    for pod, _, spec, _ in each(name):
        for container in (*spec["containers"], *spec.get("initContainers", ())):
            repository, _, digest = container["image"].partition("@sha256:")
            assert len(digest) == 64, pod
            assert ":" not in repository, pod


@pytest.mark.parametrize("name", RENDERED)
def test_accelerators_are_whole_and_asked_for_together(name: str) -> None:
    for pod, labels, spec, container in each(name):
        limits, requests = container["resources"]["limits"], container["resources"]["requests"]
        devices = {key: value for key, value in limits.items() if key.startswith("nvidia.com/")}
        assert devices == {key: value for key, value in requests.items() if key.startswith("nvidia.com/")}, pod
        read = settings(name, labels, container)
        assert (read.provider == "cuda") == bool(devices) == container["image"].startswith(_gpu_image(name)), pod
        if devices:
            assert [*devices.values()] == ["1"], "one process, one device"
            assert any(toleration["key"] == "nvidia.com/gpu" for toleration in spec["tolerations"])
            assert spec["nodeSelector"]
            (shm,) = [volume for volume in spec["volumes"] if volume["name"] == "shm"]
            assert shm["emptyDir"]["medium"] == "Memory"
            if name not in COMBINATIONS or "sqlite" not in COMBINATIONS[name]:
                deployment = one(rendered(name), "Deployment", pod.partition(": ")[2])
                assert deployment["spec"]["strategy"]["rollingUpdate"]["maxSurge"] == 0, "there may be no spare one"


def of_cuda(task: str) -> bool:
    """Whether the reference artefact has graphs that the CUDA provider takes: none of trees alone, none of 8 bits."""
    executors = artefact.read(folder(DEFAULT_MODELS[task])).manifest.executors
    return any(executor.kind == "onnx" for executor in executors) and all(
        executor.precision != "int8" for executor in executors
    )


@pytest.mark.parametrize("name", WITH_GPU)
def test_a_gpu_is_for_tasks_whose_reference_artefact_runs_on_it(name: str) -> None:
    providers = {}
    for pod, labels, _, container in each(name):
        if (task := task_of(labels)) is None:
            continue
        assert "DEMUR_MODEL" not in environment(rendered(name), container), f"{pod}: the reference artefact"
        providers[task] = settings(name, labels, container).provider
    assert providers.keys() == DEFAULT_MODELS.keys()
    on_gpu = {task for task, provider in providers.items() if provider == "cuda"}
    assert on_gpu == {"lesion", "motion"}
    assert on_gpu <= {task for task in providers if of_cuda(task)}
    assert not of_cuda("translation"), "in eight bits"
    for _, labels, _, container in each(name):
        if task_of(labels) not in on_gpu:
            assert "DEMUR_PROVIDER" not in environment(rendered(name), container), "unset, and so the CPU"


@pytest.mark.parametrize("name", WITH_GPU)
def test_a_pod_qualifies_its_device_and_has_the_time_for_it(name: str) -> None:
    for pod, labels, _, container in each(name):
        if task_of(labels) is None:
            continue
        assert environment(rendered(name), container).get("DEMUR_QUALIFY", "auto") == "auto", pod
        read = settings(name, labels, container)
        assert read.qualify == "auto"
        probe = container["startupProbe"]
        seconds = probe.get("initialDelaySeconds", 0) + probe["periodSeconds"] * probe["failureThreshold"]
        assert seconds >= read.qualify_seconds + START_SECONDS, f"{pod}: loaded, qualified, tested and warm"


@pytest.mark.parametrize("name", RENDERED)
def test_a_ledger_has_as_many_writers_as_it_takes(name: str) -> None:
    objects = rendered(name)
    where = {
        environment(objects, container).get("DEMUR_LEDGER")
        for _, labels, _, container in each(name)
        if component_of(labels) != REVIEW  # it has no ledger; see test_manifest_review.py
    }
    assert where in ({None}, {"sqlite"}), "one ledger for services and monitor; a URL with a password only in a Secret"
    if where == {None}:
        return
    homes = set()
    for deployment in of_kind(objects, "Deployment"):
        assert deployment["spec"]["replicas"] == 1
        if component_of(deployment["metadata"]["labels"]) == REVIEW:
            continue
        assert deployment["spec"]["strategy"] == {"type": "Recreate"}, "two would write one file"
        volumes = {volume["name"]: volume for volume in deployment["spec"]["template"]["spec"]["volumes"]}
        homes.add(volumes["home"]["persistentVolumeClaim"]["claimName"])
    assert homes == {"demur-home"}, "the monitor reads what services write"


def test_there_is_one_monitor() -> None:
    for name in RENDERED:
        monitor = one(rendered(name), "Deployment", "demur-monitor")["spec"]
        assert (monitor["replicas"], monitor["strategy"]) == (1, {"type": "Recreate"}), name


def test_the_base_alone_refuses_to_serve_and_to_forget_silently() -> None:
    objects = kustomize(DEPLOY / "base")
    for _, labels, spec in pods(objects):
        variables = environment(objects, spec["containers"][0])
        assert variables["DEMUR_LEDGER"] == "none"
        with pytest.raises(SettingsError, match="without tokens"):
            Settings.read({key: value or "" for key, value in variables.items()}, task=task_of(labels))


def test_only_one_node_of_ones_own_serves_without_tokens() -> None:
    for name in ("cpu-dev", "gpu-prod", "kserve"):
        for pod, _, _, container in each(name):
            variables = environment(rendered(name), container)
            assert ("DEMUR_TOKENS" in variables) == (name != "cpu-dev"), pod
            assert (variables.get("DEMUR_ALLOW_REMOTE") == "1") == (name == "cpu-dev"), pod


def _gpu_image(name: str) -> str:
    return "registry.example/demur-gpu@" if name == "gpu-prod" else "demur-gpu"
