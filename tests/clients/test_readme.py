"""The code of the client's README runs, and is sound to a strict type checker."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

import demur

PYTHON = Path(demur.__file__).parents[1]
CODE = "\n".join(re.findall(r"```python\n(.*?)```", (PYTHON / "README.md").read_text(), re.DOTALL))


def test_it_runs(service, capsys):
    assert CODE.count("127.0.0.1:4005") == 2
    exec(compile(CODE.replace("127.0.0.1:4005", service.target), "README.md", "exec"), {"__name__": "readme"})
    assert capsys.readouterr().out.count("<Answer: 3 rows") == 3 + 1 + 3


@pytest.mark.long
@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="needs mypy")
def test_it_is_typed(tmp_path):
    (tmp_path / "readme.py").write_text(CODE)
    (tmp_path / "mypy.ini").write_text("[mypy]\nstrict = True\n[mypy-demur.v1.*]\nignore_errors = True\n")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", "mypy.ini", "readme.py"],
        cwd=tmp_path,
        env={"MYPYPATH": str(PYTHON)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout
