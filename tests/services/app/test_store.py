"""The model store while several processes use it for the first time at once, as `demur up` makes them."""

import subprocess
import sys
from pathlib import Path

import pytest

from models.artefact import read

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
