"""Kernels in C beside the modules that call them, and their compilation for a checkout used without installation.

    python -m models.compiled

``pip install`` does the same through the project's list of extension modules.
"""

import ctypes
import shlex
import subprocess
import sys
import sysconfig
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

FLAGS = ("-O3", "-ffp-contract=off")
"""Compiler flags; without contraction, a row has the same bits alone and among others, on every processor."""
SOURCE = "kernel.c"


def build(folder: Path) -> Path:
    """Compile ``kernel.c`` of a folder there, and return the library's path.

    Raises:
        OSError: there is no compiler.
        subprocess.CalledProcessError: it failed; its output is on standard error.
    """
    compiler = shlex.split(sysconfig.get_config_var("CC") or "cc")
    target = folder / f"_kernel{sysconfig.get_config_var('EXT_SUFFIX')}"
    command = [*compiler, *FLAGS, "-fPIC", "-shared", str(folder / SOURCE), "-o", str(target)]
    subprocess.run(command, check=True)
    return target


def path(folder: Path) -> Path | None:
    """Return the file of the compiled kernel of a folder; None if none was built."""
    paths = (folder / f"_kernel{suffix}" for suffix in EXTENSION_SUFFIXES)
    return next((built for built in paths if built.exists()), None)


def library(folder: Path) -> ctypes.CDLL | None:
    """Return the compiled kernel of a folder; None if none was built, or it cannot be loaded."""
    built = path(folder)
    try:
        return None if built is None else ctypes.CDLL(str(built))
    except OSError:
        return None


if __name__ == "__main__":
    for source in sorted(Path(__file__).parent.rglob(SOURCE)):
        sys.stdout.write(f"{build(source.parent)}\n")
