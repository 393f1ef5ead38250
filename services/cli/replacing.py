"""Output files that appear when they are complete."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from services.cli.output import CommandError


@contextmanager
def replacing(output: Path, source: Path) -> Iterator[TextIO]:
    """A text file ``<output>.part`` that becomes ``output`` at the end, and is removed where an error comes first.

    What is no regular file, such as /dev/stdout or a pipe, is written directly.

    Raises:
        CommandError: ``source``, which is still to be read, would be overwritten.
    """
    if output.exists() and not output.is_file():
        with output.open("w", newline="", encoding="utf-8") as file:
            yield file
        return
    output = output.resolve()  # of a link, the file that it names is replaced
    part = output.with_name(output.name + ".part")
    for written in (output, part):
        if written.exists() and written.samefile(source):
            raise CommandError(f"writing {written} would destroy the input; give another output")
    try:
        with part.open("w", newline="", encoding="utf-8") as file:
            yield file
        part.replace(output)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
