"""Optional libraries, imported on demand."""

import importlib
from typing import Any


def library(module: str, needs: str, extra: str, refusal: type[Exception]) -> Any:
    """Return a module of an optional library.

    Args:
        needs: purpose with the verb, for the message: "reading Parquet needs".
        extra: extra of this package that installs it.
        refusal: class of the error.

    Raises:
        refusal: the library is not installed; the message says how to install it.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        name = module.partition(".")[0]
        raise refusal(f"{needs} {name}: pip install 'demur[{extra}]'") from error
