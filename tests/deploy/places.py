"""Where the files under test are, and what they hold."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).resolve().parents[2] / "deploy" / "observability"
RULES = sorted((FOLDER / "rules").glob("*.yaml"))
CASES = sorted((FOLDER / "tests").glob("*.yaml"))
DASHBOARDS = sorted((FOLDER / "dashboards").glob("*.json"))


def read(path: Path) -> Any:
    """A YAML document."""
    return yaml.safe_load(path.read_text())


def rules() -> Iterator[dict[str, Any]]:
    """All rules, recorded and alerting."""
    for path in RULES:
        for group in read(path)["groups"]:
            yield from group["rules"]


def alerts() -> dict[str, dict[str, Any]]:
    """Alerting rules by name."""
    return {rule["alert"]: rule for rule in rules() if "alert" in rule}
