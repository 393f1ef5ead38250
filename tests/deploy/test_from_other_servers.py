"""The page for those who come from other servers names what there is: metrics, settings, places, and its manifest."""

import re
import tempfile
from pathlib import Path

from tests.deploy.rendered import DEPLOY, kustomize, one

PROJECT = DEPLOY.parent
PAGE = (PROJECT / "docs" / "from-other-servers.md").read_text()


def test_metrics_are_those_of_the_code() -> None:
    code = "\n".join(path.read_text() for path in sorted((PROJECT / "services").rglob("*.py")))
    named = set(re.findall(r"`(demur_\w+)`", PAGE))
    assert len(named) > 10
    served = {name for name in named if f'"{name.removesuffix("_total")}"' in code}
    described = {name for name in named - served if name in (PROJECT / "docs" / "monitor.md").read_text()}
    assert named == served | described


def test_settings_are_on_the_page_of_settings() -> None:
    settings = (PROJECT / "docs" / "settings.md").read_text()
    assert [name for name in set(re.findall(r"`(DEMUR_[A-Z_]+)", PAGE)) if f"`{name}`" not in settings] == []


def test_links_and_places_exist() -> None:
    links = [link.partition("#") for link in re.findall(r"\]\(([^)]+)\)", PAGE)]
    for path, _, anchor in links:
        target = PROJECT / "docs" / path
        target = target / "README.md" if target.is_dir() else target
        assert target.exists(), path
        headings = re.findall(r"^#+ (.*)$", target.read_text(), re.MULTILINE)
        assert not anchor or anchor in {heading.lower().replace(" ", "-") for heading in headings}, (path, anchor)
    places = re.findall(r"`(deploy/[\w./-]+)`", PAGE)
    assert len(places) > 3
    assert [place for place in places if not (PROJECT / place).exists()] == []


def test_the_overlay_for_kserve_is_rendered() -> None:
    match = re.search(r"<!-- kserve -->\n```yaml\n(.*?)```", PAGE, re.DOTALL)
    assert match
    with tempfile.TemporaryDirectory(dir=DEPLOY / "overlays", prefix=".") as folder:
        (Path(folder) / "kustomization.yaml").write_text(match[1])
        objects = kustomize(Path(folder))
    predictor = one(objects, "InferenceService", "demur-vessel")["spec"]["predictor"]
    assert (predictor["model"]["storageUri"], predictor["minReplicas"]) == ("s3://models/vessel", 3)
    assert one(objects, "InferenceService", "demur-weather")["spec"]["predictor"]["minReplicas"] == 2
