"""Manifests against the rules of checkov, by `make policy`; what matters most stands in test_manifest_pods, too."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.deploy.rendered import OVERLAYS, rendered

ACCEPTED = {
    "CKV_K8S_35": "the ledger's URL is a variable: it is read once, and only from a Secret",
}
IN_DEVELOPMENT = {
    "CKV_K8S_43": "an image that was just built has a tag, and no digest that anybody knows",
    "CKV_K8S_15": "and is nowhere to be pulled from",
}
"""Rules that are not kept, and why."""


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", OVERLAYS)
def test_checkov_finds_nothing_that_is_not_accepted(name: str, tmp_path: Path) -> None:
    program = shutil.which("checkov")
    if program is None:
        pytest.skip("checkov is not on the path; `make policy` installs it")
    path = tmp_path / "manifests.yaml"
    path.write_text(yaml.safe_dump_all(rendered(name)))
    words = ("--framework", "kubernetes", "--skip-download", "--compact", "--quiet", "--output", "json")
    done = subprocess.run([program, "-f", path, *words], capture_output=True, text=True, timeout=280, check=False)
    report = json.loads(done.stdout)
    assert report["summary"]["passed"] > 80, report["summary"]
    assert report["summary"]["parsing_errors"] == 0
    failed = {check["check_id"]: check["check_name"] for check in report["results"]["failed_checks"]}
    accepted = ACCEPTED | (IN_DEVELOPMENT if name == "cpu-dev" else {})
    assert {rule: what for rule, what in failed.items() if rule not in accepted} == {}
