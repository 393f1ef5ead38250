"""Makes the schemas of custom resources in this folder, from packages that were made of the projects' own API types.

    npm pack @kubernetes-models/gateway-api@2.0.0     (and the others of NPM; unpack each into a folder of its name)
    pip download --no-deps kserve==0.21.0             (unpack it into the folder kserve)
    python -m tests.deploy.crds.collect FOLDER

TypeScript declarations and OpenAPI classes tell names, types, enumerations and what is required; patterns and lengths
are not in them. Parts that are Kubernetes' own are references to its definitions.
"""

import ast
import json
import re
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
NPM = {
    "gateway-api": (
        "2.0.0",
        [f"gateway.networking.k8s.io/v1/{kind}" for kind in ("BackendTLSPolicy", "Gateway", "GRPCRoute", "HTTPRoute")],
    ),
    "prometheus-operator": (
        "6.0.0",
        [f"monitoring.coreos.com/v1/{kind}" for kind in ("PodMonitor", "PrometheusRule", "ServiceMonitor")],
    ),
    "cert-manager": ("6.0.0", ["cert-manager.io/v1/Certificate"]),
}
KSERVE = {
    "V1alpha1ServingRuntime": "serving.kserve.io/v1alpha1",
    "V1beta1InferenceService": "serving.kserve.io/v1beta1",
}
_CORE = "kubernetes:"
"""Begins references to Kubernetes' own definitions."""
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|import\("[^"]*"\)\.\w+|[\w.]+|[<>{}\[\]|?:;,()]')
_WORDS: dict[str, dict[str, Any]] = {
    "string": {"type": "string"},
    "number": {"type": "number"},
    "boolean": {"type": "boolean"},
    "any": {},
    "unknown": {},
    "object": {"type": "object"},
}
_KUBERNETES_MODULES = (
    ("kubernetes-models/v1/", "io.k8s.api.core.v1."),
    ("@kubernetes-models/apimachinery/apis/", "io.k8s.apimachinery.pkg.apis."),
    ("@kubernetes-models/apimachinery/", "io.k8s.apimachinery.pkg."),
)


class Declarations:
    """TypeScript declarations, read from a file and those that it imports."""

    def __init__(self) -> None:
        self.found: dict[str, Any] = {}

    def read(self, path: Path) -> str:
        """The name of the schema of what a file declares."""
        name = path.name.removesuffix(".d.ts")
        if name in self.found:
            return name
        self.found[name] = {}
        text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.DOTALL)
        imports = dict(re.findall(r'import \{ (\w+) \} from "([^"]+)"', text))
        body = re.search(r"declare class \w+ [^{]*\{(.*?)(?:static|constructor)", text, re.DOTALL)
        alias = re.search(r"export (?:declare )?type I?\w+ = (.*?);\n", text, re.DOTALL)
        source = "{" + body[1] + "}" if body else alias[1] if alias else ""
        assert source, path
        self.found[name] = _Type(_TOKEN.findall(source), lambda word: self._named(word, imports, path)).read()
        return name

    def _named(self, word: str, imports: dict[str, str], path: Path) -> dict[str, Any]:
        module = imports[word]
        for start, package in _KUBERNETES_MODULES:
            if module.startswith(start):
                return {"$ref": _CORE + package + module.removeprefix(start).replace("/", ".")}
        return {"$ref": f"#/$defs/{self.read((path.parent / module).with_suffix('.d.ts'))}"}


class _Type:
    """One type of a declaration, from its words."""

    def __init__(self, words: list[str], named: Any) -> None:
        self._words, self._named = words, named

    def read(self) -> dict[str, Any]:
        choices = [self._one()]
        while self._words and self._words[0] == "|":
            self._words.pop(0)
            choices.append(self._one())
        if all(set(choice) == {"enum"} for choice in choices):
            return {"enum": [value for choice in choices for value in choice["enum"]]}
        return choices[0] if len(choices) == 1 else {"anyOf": choices}

    def _one(self) -> dict[str, Any]:
        word = self._words.pop(0)
        if word.startswith('"') or word.isdigit():
            schema: dict[str, Any] = {"enum": [ast.literal_eval(word)]}
        elif word == "Array":
            self._words.pop(0)
            schema = {"type": "array", "items": self.read()}
            self._words.pop(0)
        elif word == "{":
            schema = self._members()
        elif word == "(":
            schema = self.read()
            self._words.pop(0)
        else:
            schema = _WORDS[word] if word in _WORDS else self._named(word)
        while self._words[:2] == ["[", "]"]:
            del self._words[:2]
            schema = {"type": "array", "items": schema}
        return schema

    def _members(self) -> dict[str, Any]:
        properties: dict[str, Any] = {}
        required, more = [], False
        while (word := self._words.pop(0)) != "}":
            if word in (";", ","):
                continue
            if word == "[":  # [key: string]: T
                del self._words[:5]
                more = self.read()  # type: ignore[assignment]
                continue
            name = word.strip('"')
            if self._words[0] == "?":
                self._words.pop(0)
            else:
                required.append(name)
            self._words.pop(0)
            properties[name] = self.read()
        schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": more}
        return {key: value for key, value in schema.items() if value not in ({}, [])} if more else schema


class Classes:
    """OpenAPI classes of Python."""

    def __init__(self, folder: Path) -> None:
        self.found: dict[str, Any] = {}
        self._paths = {re.sub(r"[_.]", "", path.stem).lower(): path for path in folder.glob("*.py")}

    def read(self, name: str) -> dict[str, Any]:
        """A reference to the schema of a class."""
        path = self._paths.get(name.lower())
        if path is None:
            return {"$ref": _CORE + _kubernetes(name)}
        if name not in self.found:
            self.found[name] = {}
            text = path.read_text()
            types, names = (
                ast.literal_eval(re.search(rf"{word} = (\{{.*?\n    \}})", text, re.DOTALL)[1])  # type: ignore[index]
                for word in ("openapi_types", "attribute_map")
            )
            needed = re.findall(r"Invalid value for `(\w+)`, must not be `None`", text)
            self.found[name] = {
                "type": "object",
                "properties": {names[key]: self._type(kind) for key, kind in types.items()},
                "required": [names[key] for key in dict.fromkeys(needed)],
                "additionalProperties": False,
            }
        return {"$ref": f"#/$defs/{name}"}

    def _type(self, kind: str) -> dict[str, Any]:
        if kind.startswith("list["):
            return {"type": "array", "items": self._type(kind[5:-1])}
        if kind.startswith("dict(str, "):
            return {"type": "object", "additionalProperties": self._type(kind[10:-1])}
        plain = {"str": "string", "int": "integer", "bool": "boolean", "float": "number", "object": "object"}
        return {"type": plain[kind]} if kind in plain else self.read(kind)


def _kubernetes(name: str) -> str:
    """The definition that a class of the Kubernetes client stands for."""
    known = {
        "V1beta1MetricQuantity": "io.k8s.apimachinery.pkg.api.resource.Quantity",
        "K8sIoApiAutoscalingV2HorizontalPodAutoscalerBehavior": (
            "io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerBehavior"
        ),
        "V1ObjectMeta": "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
        "V1LabelSelector": "io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector",
        "ResourceQuantity": "io.k8s.apimachinery.pkg.api.resource.Quantity",
        "K8sIoApiAppsV1DeploymentStrategy": "io.k8s.api.apps.v1.DeploymentStrategy",
    }
    return known.get(name, f"io.k8s.api.core.v1.{name.removeprefix('V1')}")


def write(kind: str, version: str, source: str, schema: dict[str, Any], parts: dict[str, Any]) -> None:
    schema = {"$comment": source, "apiVersion": version, "kind": kind, **schema, "$defs": dict(sorted(parts.items()))}
    (HERE / f"{kind.lower()}.json").write_text(json.dumps(schema, indent=1) + "\n")


def main(folder: Path) -> None:
    for package, (version, paths) in NPM.items():
        for path in paths:
            read = Declarations()
            name = read.read(folder / package / f"{path}.d.ts")
            source = f"made of @kubernetes-models/{package} {version} (MIT)"
            read.found.get(name, {}).get("properties", {}).pop("status", None)
            write(name, path.rpartition("/")[0], source, {"$ref": f"#/$defs/{name}"}, _reached(name, read.found))
    for name, version in KSERVE.items():
        classes = Classes(folder / "kserve" / "kserve" / "models")
        classes.read(name)
        classes.found[name]["properties"].pop("status", None)
        source = "made of kserve 0.21.0 of PyPI (Apache-2.0)"
        kind = re.sub(r"^V1(alpha|beta)1", "", name)
        write(kind, version, source, {"$ref": f"#/$defs/{name}"}, _reached(name, classes.found))


def _reached(name: str, parts: dict[str, Any]) -> dict[str, Any]:
    """Those parts that a schema needs."""
    reached: dict[str, Any] = {}
    waiting = [name]
    while waiting:
        if (part := waiting.pop()) not in reached:
            reached[part] = parts[part]
            waiting += re.findall(r'"#/\$defs/(\w+)"', json.dumps(parts[part]))
    return reached


if __name__ == "__main__":
    main(Path(sys.argv[1]))
