"""Compile the kernel next to its source, for a checkout that is used without installation.

    python -m models.executors.trees.build

``pip install`` does the same through the project's list of extension modules.
"""

import shlex
import subprocess
import sys
import sysconfig
from pathlib import Path

FLAGS = ("-O3", "-ffp-contract=off")
"""Compiler flags; without contraction, a row has the same bits alone and among others, on every processor."""


def build(folder: Path) -> Path:
    """Compile ``kernel.c`` of a folder there, and return the library's path.

    Raises:
        OSError: there is no compiler.
        subprocess.CalledProcessError: it failed; its output is on standard error.
    """
    compiler = shlex.split(sysconfig.get_config_var("CC") or "cc")
    library = folder / f"_kernel{sysconfig.get_config_var('EXT_SUFFIX')}"
    command = [*compiler, *FLAGS, "-fPIC", "-shared", str(folder / "kernel.c"), "-o", str(library)]
    subprocess.run(command, check=True)
    return library


if __name__ == "__main__":
    sys.stdout.write(f"{build(Path(__file__).parent)}\n")
