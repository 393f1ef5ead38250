"""Strict schemas of what manifests hold: Kubernetes' own kinds, and the custom ones in crds/."""

import json
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from referencing import Registry, Resource

KUBERNETES = "1.32"
CUSTOM = Path(__file__).parent / "crds"


@cache
def _kubernetes() -> tuple[dict[tuple[str, str], str], str, Registry]:
    """Kinds to definitions, where those are, and a registry of them."""
    folder = resources.files("kubernetes_validate") / "kubernetes-json-schema" / f"v{KUBERNETES}.0-local-strict"
    document = json.loads((folder / "_definitions.json").read_text())
    address = document["$id"]
    kinds = {}
    for name, definition in document["$defs"].items():
        for known in definition.get("x-kubernetes-group-version-kind", ()):
            version = "/".join(filter(None, (known["group"], known["version"])))
            kinds[version, known["kind"]] = f"{address}#/$defs/{name}"
    return kinds, address, Registry().with_resource(address, Resource.from_contents(document))


@cache
def _validator(version: str, kind: str) -> Draft202012Validator:
    kinds, address, registry = _kubernetes()
    if (reference := kinds.get((version, kind))) is not None:
        return Draft202012Validator({"$ref": reference}, registry=registry)
    path = CUSTOM / f"{kind.lower()}.json"
    schema = json.loads(path.read_text().replace('"kubernetes:', f'"{address}#/$defs/')) if path.is_file() else {}
    assert schema.get("apiVersion") == version, f"there is no schema of {version} {kind}"
    return Draft202012Validator(schema, registry=registry)


def complaints(thing: dict[str, Any]) -> list[str]:
    """What is wrong with an object.

    Raises:
        AssertionError: there is no schema of its kind.
    """
    errors = _validator(thing["apiVersion"], thing["kind"]).iter_errors(thing)
    return [f"{error.json_path}: {error.message}" for error in errors] + [f"{path} is null" for path in _nulls(thing)]


def _nulls(value: Any, path: str = "$") -> list[str]:
    """Where nothing stands: schemas of Kubernetes let it pass, and the server drops it."""
    if value is None:
        return [path]
    if isinstance(value, dict):
        return [place for key, each in value.items() for place in _nulls(each, f"{path}.{key}")]
    if isinstance(value, list):
        return [place for index, each in enumerate(value) for place in _nulls(each, f"{path}[{index}]")]
    return []
