"""Libraries that only some users need, imported where they are needed."""

from __future__ import annotations

import importlib
from typing import Any


def library(module: str, needs: str, extra: str, refusal: type[Exception]) -> Any:
    """Return a module of an optional library.

    Args:
        needs: who needs it, with the verb, for the message: "reading Parquet needs".
        extra: of this package, which installs it.
        refusal: what is raised.

    Raises:
        refusal: the library is not installed; the message says how to install it.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        name = module.partition(".")[0]
        raise refusal(f"{needs} {name}: pip install 'demur[{extra}]'") from error
