"""The model store while several processes use it for the first time at once, as `demur up` makes them."""

import subprocess
import sys
from pathlib import Path

import pytest

from models.artefact import read
from services.app.model_store import Store

PROJECT = Path(__file__).resolve().parents[3]
ADD = """
import sys
from pathlib import Path
from services.app.model_store import Store

store = Store(Path(sys.argv[1]))
for folder in sys.argv[2:]:
    print(store.add(Path(folder)).tag)
    store.list()
"""


@pytest.mark.long
def test_processes_that_fill_an_empty_store_side_by_side_take_turns(tmp_path: Path) -> None:
    folders = [PROJECT / "artefacts" / place for place in ("vessel/dnn-1", "weather/catboost-1", "vessel/symbolic-1")]
    command = [sys.executable, "-c", ADD, str(tmp_path)]
    started = [
        subprocess.Popen(
            [*command, *map(str, order)], cwd=PROJECT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for order in (folders, folders[::-1], [*folders[1:], folders[0]])
    ]
    outputs = [process.communicate(timeout=240) for process in started]
    assert [process.returncode for process in started] == [0, 0, 0], [errors for _, errors in outputs]
    tags = {read(folder).tag for folder in folders}
    assert [set(added.split()) for added, _ in outputs] == [tags, tags, tags]


GET = """
import sys
from pathlib import Path
from services.app.model_store import Store

print(Store(Path(sys.argv[1])).get(sys.argv[2]).tag, "bentoml" in sys.modules)
"""


def test_what_is_in_the_store_is_found_as_by_bentoml_but_without_it(tmp_path: Path) -> None:
    """BentoML keeps the first store of a process, so each look is in one of its own."""
    tag = read(PROJECT / "artefacts" / "vessel" / "dnn-1").tag
    _run(ADD, str(tmp_path), str(PROJECT / "artefacts" / "vessel" / "dnn-1"))
    name, _, version = tag.partition(":")
    for wanted in (tag, name, f"{name}:latest"):
        assert _run(GET, str(tmp_path), wanted) == f"{tag} False\n"
    assert _run(GET, str(tmp_path), f"{name}:{version[:6]}") == f"{tag} True\n", "BentoML completes a version"
    (tmp_path / "bentoml" / "models" / name / "latest").unlink()
    assert _run(GET, str(tmp_path), name) == f"{tag} True\n", "BentoML finds the newest again"
    for outside in ("../vessel-dnn-1", f"{name}:../{version}"):
        with pytest.raises(AssertionError, match="the model store has no|not a valid|Invalid"):
            _run(GET, str(tmp_path), outside)


def _run(program: str, *words: str) -> str:
    command = [sys.executable, "-c", program, *words]
    ran = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, timeout=240, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_two_homes_of_one_process_keep_to_themselves(tmp_path: Path) -> None:
    shipped = PROJECT / "artefacts" / "vessel" / "symbolic-1"
    first, second = Store(tmp_path / "first"), Store(tmp_path / "second")
    tag = first.add(shipped).tag
    assert [stored.tag for stored in first.list()] == [tag]
    assert second.list() == []
    second.add(shipped)
    assert Path(second.list()[0].path).is_relative_to(tmp_path / "second")
