"""Output file that replaces an earlier one when it is complete, or after an error."""

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from services.cli.output import CommandError


@contextmanager
def replacing(output: Path, source: Path) -> Iterator[TextIO]:
    """Open a text file ``<output>.part``, which becomes ``output`` at the end; gzipped if its name ends in ``.gz``.

    After an error it holds what was written before; if that is nothing, ``output`` stays as it was. What is no regular
    file, such as /dev/stdout or a pipe, is written directly.

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
    empty = True
    try:
        with _opened(part, gzipped=output.suffix == ".gz") as file:
            try:
                yield file
            finally:
                empty = not file.tell()
    except BaseException:
        if empty:
            part.unlink(missing_ok=True)
        else:
            part.replace(output)
        raise
    part.replace(output)


def _opened(path: Path, *, gzipped: bool) -> TextIO:
    if gzipped:
        return gzip.open(path, "wt", newline="", encoding="utf-8")
    return path.open("w", newline="", encoding="utf-8")
