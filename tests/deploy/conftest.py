"""What tests of rules, runbooks and dashboards share."""

import pytest

from tests.deploy.exported import exported
from tests.deploy.places import rules


@pytest.fixture(scope="session")
def series(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """Every series there is, exported or recorded, with its labels."""
    return exported(tmp_path_factory.mktemp("ledger")) | recorded()


def recorded() -> dict[str, set[str]]:
    """Recorded series; which labels they keep is the first part of their name."""
    labels: dict[str, set[str]] = {}
    for rule in rules():
        if (name := rule.get("record")) is not None:
            labels.setdefault(name, set()).update(name.partition(":")[0].split("_"), rule.get("labels", {}))
    return labels
