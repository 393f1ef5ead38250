"""Static files: each under one hash of all, with nothing that a strict content security policy forbids."""

import gzip
import json
import re
import subprocess
from pathlib import Path

import pytest

from services.review import assets

STATIC = Path(assets.__file__).parent / "static"
OWN = [path for path in sorted(STATIC.rglob("*")) if path.is_file() and "vendor" not in path.parts]
LARGEST_BYTES = 1_500_000
"""Largest size that the console may add to a wheel."""


def test_the_address_of_every_file_changes_with_any_of_them() -> None:
    one = assets.of_files({"index.html": b'<script src="/static/app.js"></script>', "app.js": b"1"})
    other = assets.of_files({"index.html": b'<script src="/static/app.js"></script>', "app.js": b"2"})
    assert one.version != other.version
    assert f'"/static/{one.version}/app.js"'.encode() in one.page.content


def test_compressed_content_is_the_same() -> None:
    loaded = assets.load()
    for path, asset in loaded.by_path.items():
        if asset.compressed is not None:
            assert gzip.decompress(asset.compressed) == asset.content, path
    assert "app.js" in loaded.by_path


def test_what_comes_with_the_package_is_small() -> None:
    loaded = assets.load()
    assert sum(len(asset.compressed or asset.content) for asset in loaded.by_path.values()) < LARGEST_BYTES


@pytest.mark.parametrize("path", OWN, ids=lambda path: path.relative_to(STATIC).as_posix())
def test_nothing_needs_inline_code_or_another_host(path: Path) -> None:
    text = path.read_text()
    for forbidden in (r"\beval\(", r"new Function", r"innerHTML", r"document\.write", r"dangerouslySet", r"https?://"):
        assert not re.search(forbidden, text), forbidden
    if path.suffix == ".html":
        assert not re.search(r"<script>|<script [^>]*>[^<]|\son\w+=|\sstyle=|<style", text)
    if path.suffix == ".js":
        for target in re.findall(r'(?:from|import\()\s*"([^"]+)"', text):
            assert (path.parent / target).is_file(), target
            assert target.startswith("."), "modules import each other by relative paths"


def test_vendored_files_are_those_that_their_list_names() -> None:
    listed = dict(
        re.findall(r"^\| `([^`]+)` \|.*`([0-9a-f]{64})` \|$", (STATIC / "vendor" / "README.md").read_text(), re.M)
    )
    files = {
        path.relative_to(STATIC / "vendor").as_posix(): path
        for path in (STATIC / "vendor").rglob("*")
        if path.is_file() and path.suffix not in (".md", ".txt")
    }
    assert listed.keys() == files.keys()
    digests = subprocess.run(
        ["sha256sum", *map(str, files.values())], capture_output=True, text=True, check=True
    ).stdout
    assert [line.split()[0] for line in digests.splitlines()] == [listed[name] for name in files]


def test_both_languages_have_every_text() -> None:
    script = "import(process.argv[1]).then(m => console.log(JSON.stringify(m.missing())))"
    try:
        result = subprocess.run(
            ["node", "--input-type=module", "-e", script, (STATIC / "texts" / "index.js").as_uri()],
            capture_output=True,
            text=True,
            check=True,
        )
    except FileNotFoundError:
        pytest.skip("Node.js compares the texts of both languages: apt-get install -y nodejs")
    assert json.loads(result.stdout) == []
