"""Writes the rules of deploy/observability/rules as one object for the Prometheus operator; ``--check`` only compares.

python -m tests.deploy.prometheus_rules [--check]
"""

import sys
from typing import Any

import yaml

from tests.deploy.places import FOLDER, RULES, read

PATH = FOLDER / "prometheus-rules.yaml"
_HEAD = "# Made of rules/*.yaml by `python -m tests.deploy.prometheus_rules`: change those.\n"


class _Dumper(yaml.SafeDumper):
    """Expressions of several lines stay readable."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)


def document() -> dict[str, Any]:
    """The object."""
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {"name": "demur", "labels": {"app.kubernetes.io/part-of": "demur"}},
        "spec": {"groups": [group for path in RULES for group in read(path)["groups"]]},
    }


def text() -> str:
    """The file."""
    return _HEAD + yaml.dump(document(), Dumper=_Dumper, sort_keys=False, width=10_000, allow_unicode=True)


def main(check: bool) -> int:
    if not check:
        PATH.write_text(text())
    elif not PATH.is_file() or PATH.read_text() != text():
        print(f"{PATH.name} is not what rules/ make; run python -m tests.deploy.prometheus_rules", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
