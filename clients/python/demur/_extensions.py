"""Modules that other distributions add to this package, found by their entry points."""

from importlib.metadata import entry_points
from types import ModuleType

GROUP = "demur.extensions"
"""Group of the entry points; the name is that of the module below ``demur``, the value the module that implements it.
"""


def extension(name: str, install: str) -> ModuleType:
    """Return the module that implements ``demur.NAME``.

    Args:
        name: of the entry point, such as ``testing``.
        install: requirement that brings the implementation with all it needs, such as ``demur[testing]``.

    Raises:
        ImportError: no installed distribution has it, or one of its own imports is missing; the message says what to
            install.
    """
    advice = f"install it with: pip install '{install}'"
    points = tuple(entry_points(group=GROUP, name=name))
    if not points:
        raise ImportError(
            f"demur.{name} is not part of the client (demur-client) and no installed package has it; {advice}"
        )
    try:
        module = points[0].load()
    except ImportError as error:
        missing = error.name or points[0].value
        raise ImportError(f"demur.{name} cannot be loaded, since {missing} is missing ({error}); {advice}") from error
    if not isinstance(module, ModuleType):
        raise ImportError(
            f"entry point {name} = {points[0].value} of the group {GROUP}: must name a module; "
            f"got {type(module).__name__}; {advice}"
        )
    return module
